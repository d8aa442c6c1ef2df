use super::*;
use crate::names::Naming;

#[test]
fn without_a_boot_id_no_file_is_kept_and_it_is_said() {
    let shared = Arc::new(Shared::for_tests(1, Naming::new(&Default::default())));
    let unreadable = Err(io::ErrorKind::PermissionDenied.into());
    assert!(StateKeeper::open("state".into(), unreadable, &shared).is_none());
    let [Notice::Warning { code, message }] = &shared.notices()[..] else {
        panic!("a warning and nothing else")
    };
    assert_eq!(*code, "STATE_FILE_REFUSED");
    assert!(message.contains("boot's id"), "{message}");
}
