//! Traffic inside a test's namespace: small, on loopback, made by hand where the system has no socket for it.

use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::thread;

use rustix::net::{
    AddressFamily, Protocol, RawProtocol, SendFlags, SocketFlags, SocketType, sendto, socket_with,
};

/// One TCP connection to `listen` that carries this many octets each way and is closed by the client first. Returns the
/// client's address.
pub fn tcp_exchange(listen: SocketAddr, to_server: usize, to_client: usize) -> SocketAddr {
    let listener = TcpListener::bind(listen).expect("a listener binds");
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection comes");
        let mut octets = vec![0; to_server];
        stream.read_exact(&mut octets).expect("the client writes");
        stream
            .write_all(&vec![1; to_client])
            .expect("the client reads");
        let _ = stream.read(&mut [0]);
    });
    let mut stream = TcpStream::connect(listen).expect("the listener accepts");
    let client = stream.local_addr().expect("a connected socket is named");
    stream
        .write_all(&vec![2; to_server])
        .expect("the server reads");
    let mut octets = vec![0; to_client];
    stream.read_exact(&mut octets).expect("the server writes");
    drop(stream);
    server.join().expect("the server ends");
    client
}

/// One datagram of this many octets from `client` to `server` and, unless `answer` is `None`, one back.
pub fn udp_exchange(client: SocketAddr, server: SocketAddr, octets: usize, answer: Option<usize>) {
    let far = UdpSocket::bind(server).expect("the server binds");
    let near = UdpSocket::bind(client).expect("the client binds");
    near.send_to(&vec![0; octets], server)
        .expect("a datagram leaves");
    let (_, from) = far
        .recv_from(&mut vec![0; 65_535])
        .expect("the datagram arrives");
    if let Some(octets) = answer {
        far.send_to(&vec![0; octets], from)
            .expect("an answer leaves");
        near.recv_from(&mut vec![0; 65_535])
            .expect("the answer arrives");
    }
}

/// Sends one IP packet of any protocol: `payload` goes behind the IP header that the kernel writes.
pub fn send_ip(destination: IpAddr, protocol: u8, payload: &[u8]) {
    let family = match destination {
        IpAddr::V4(_) => AddressFamily::INET,
        IpAddr::V6(_) => AddressFamily::INET6,
    };
    let raw = RawProtocol::new(u32::from(protocol)).expect("a protocol number is not zero");
    let socket = socket_with(
        family,
        SocketType::RAW,
        SocketFlags::CLOEXEC,
        Some(Protocol::from_raw(raw)),
    )
    .expect("a raw socket opens in an own namespace");
    sendto(
        &socket,
        payload,
        SendFlags::empty(),
        &SocketAddr::new(destination, 0),
    )
    .expect("a packet leaves");
}

/// Sends one ICMP or ICMPv6 echo request, which loopback answers.
pub fn icmp_echo(destination: IpAddr, identifier: u16) {
    let [id0, id1] = identifier.to_be_bytes();
    match destination {
        IpAddr::V4(_) => {
            // RFC 1071: the complement of the sum of the message's words, the first of which is type << 8 | code.
            let sum = u32::from(identifier) + 0x0800 + 1;
            let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
            let [sum0, sum1] = sum.to_be_bytes();
            send_ip(destination, 1, &[8, 0, sum0, sum1, id0, id1, 0, 1]);
        }
        // The kernel writes the checksum of ICMPv6 (RFC 3542, section 3.1).
        IpAddr::V6(_) => send_ip(destination, 58, &[128, 0, 0, 0, id0, id1, 0, 1]),
    }
}
