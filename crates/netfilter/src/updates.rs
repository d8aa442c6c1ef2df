//! Which UPDATE events are wanted, and the classic BPF program by which the kernel leaves the others out.
//!
//! A TCP connection that lives a moment causes four UPDATEs, and each one that is received costs about as much as its NEW.
//! The program looks at the message as the kernel is about to queue it: what it refuses takes no receive buffer and wakes
//! nobody. It finds attributes by the kernel's own walk over them (SKF_AD_NLATTR, SKF_AD_NLATTR_NEST; net/core/filter.c),
//! so that their order and number do not matter.

#[cfg(test)]
mod tests;

use libc::sock_filter as Instruction;

use crate::connection::cta;
use crate::message::{HEADER, NFGENMSG, flag, kind};

/// Which UPDATE events are wanted. Whatever it is, a message is left out only when it is an UPDATE for certain.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Updates {
    /// None.
    #[default]
    None,
    /// Those of connections that are over for their protocol: TCP in TIME_WAIT or CLOSE, SCTP in CLOSED.
    Closing,
    /// These, and those that name a mark: the kernel does so when it changed, or is not 0.
    ClosingOrMarked,
    /// All.
    All,
}

/// A message is kept whole.
const KEEP: Instruction = instruction(libc::BPF_RET | libc::BPF_K, u32::MAX);
const DROP: Instruction = instruction(libc::BPF_RET | libc::BPF_K, 0);

/// Where a conntrack message's attributes begin.
const ATTRIBUTES: u32 = (HEADER + NFGENMSG) as u32;

/// Octets of an attribute's header, before its payload.
const PAYLOAD: u32 = 4;

/// CTA_PROTOINFO_TCP with TIME_WAIT and CLOSE, CTA_PROTOINFO_SCTP with CLOSED.
const OVER: [(u32, &[u32]); 2] = [(1, &[7, 8]), (3, &[1])];

/// In each of them the state's type.
const STATE: u32 = 1;

impl Updates {
    /// The program for the socket; `None` where no message of the joined groups is to be left out.
    pub(crate) fn program(self) -> Option<Vec<Instruction>> {
        if matches!(self, Self::None | Self::All) {
            return None;
        }
        // What is no UPDATE is kept: another type, or the flags of NEW.
        let mut program = vec![
            half_word(4),
            if_equal_skip(host_order(kind::CT_NEW), 1),
            KEEP,
            half_word(6),
            unless_any_bit_skip(host_order(flag::CREATE | flag::EXCL), 1),
            KEEP,
        ];
        for (protocol, states) in OVER {
            program.extend(keep_in_states(protocol, states));
        }
        if self == Self::ClosingOrMarked {
            program.extend(find(cta::MARK));
            program.extend([if_equal_skip(0, 1), KEEP]);
        }
        program.push(DROP);
        Some(program)
    }
}

/// Keeps a message whose CTA_PROTOINFO has one of these states of this protocol, and falls through for any other.
fn keep_in_states(protocol: u32, states: &[u32]) -> Vec<Instruction> {
    const BEFORE_STATES: usize = 12;
    let end = BEFORE_STATES + 2 * states.len();
    let mut program = find(cta::PROTOINFO).to_vec();
    for nested in [protocol, STATE] {
        program.push(if_equal_skip(0, end - program.len() - 1));
        program.extend([index(nested), ancillary(libc::SKF_AD_NLATTR_NEST)]);
    }
    program.push(if_equal_skip(0, end - program.len() - 1));
    program.extend([
        instruction(libc::BPF_MISC | libc::BPF_TAX, 0),
        instruction(libc::BPF_LD | libc::BPF_B | libc::BPF_IND, PAYLOAD),
    ]);
    debug_assert_eq!(program.len(), BEFORE_STATES);
    for &state in states {
        program.extend([unless_equal_skip(state, 1), KEEP]);
    }
    program
}

/// Loads the offset of an attribute of the message, 0 when it has none.
fn find(attribute: u16) -> [Instruction; 3] {
    [
        instruction(libc::BPF_LD | libc::BPF_IMM, ATTRIBUTES),
        index(attribute.into()),
        ancillary(libc::SKF_AD_NLATTR),
    ]
}

const fn instruction(code: u32, k: u32) -> Instruction {
    jump(code, k, 0, 0)
}

const fn jump(code: u32, k: u32, jt: u8, jf: u8) -> Instruction {
    Instruction {
        code: code as u16,
        jt,
        jf,
        k,
    }
}

/// What a half word that the kernel wrote in host order reads as: BPF loads big-endian.
fn host_order(value: u16) -> u32 {
    u16::from_be_bytes(value.to_ne_bytes()).into()
}

const fn half_word(offset: u32) -> Instruction {
    instruction(libc::BPF_LD | libc::BPF_H | libc::BPF_ABS, offset)
}

const fn index(value: u32) -> Instruction {
    instruction(libc::BPF_LDX | libc::BPF_IMM, value)
}

const fn ancillary(what: i32) -> Instruction {
    let code = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    instruction(code, (libc::SKF_AD_OFF + what) as u32)
}

const fn if_equal_skip(value: u32, count: usize) -> Instruction {
    let code = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    jump(code, value, count as u8, 0)
}

const fn unless_equal_skip(value: u32, count: u8) -> Instruction {
    let code = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    jump(code, value, 0, count)
}

const fn unless_any_bit_skip(bits: u32, count: u8) -> Instruction {
    let code = libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K;
    jump(code, bits, 0, count)
}
