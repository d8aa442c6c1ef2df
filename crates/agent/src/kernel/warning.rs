//! What the kernel's settings take away from an export, and how to mend it.

use netfilter::sysctl::{EventMode, Settings};

/// A code and a sentence for each setting that falsifies or limits the export, or for all of them where they cannot be
/// read. Settings count for connections that are made after they were changed.
pub(crate) fn warnings(
    settings: Result<Settings, netfilter::Error>,
    follows_events: bool,
) -> Vec<(&'static str, String)> {
    let settings = match settings {
        Ok(settings) => settings,
        Err(error) => {
            return vec![(
                "SETTINGS_UNREADABLE",
                format!(
                    "whether connections are counted, carry timestamps and send events is not known: {error}"
                ),
            )];
        }
    };
    let mut warnings = Vec::new();
    let mut warn = |code, setting: &str, now: &str, consequence: &str| {
        let name = format!("net.netfilter.nf_conntrack_{setting}");
        warnings.push((
            code,
            format!("{name} is {now}: {consequence}; set it to 1 (sysctl -w {name}=1)"),
        ));
    };
    if !settings.accounting {
        warn(
            "ACCOUNTING_OFF",
            "acct",
            "0",
            "packets and octets are not counted, and are exported as 0",
        );
    }
    if !settings.timestamps {
        warn(
            "TIMESTAMPS_OFF",
            "timestamp",
            "0",
            "flows start when they are first seen, which is up to a poll interval late",
        );
    }
    match settings.events {
        _ if !follows_events => {}
        Some(EventMode::Off) => warn(
            "EVENTS_OFF",
            "events",
            "0",
            "the kernel sends no events, and connections are seen and ended by the resync alone",
        ),
        Some(EventMode::Autodetect) if settings.count > 0 => warn(
            "EVENTS_AUTODETECT",
            "events",
            "2",
            "connections made while nobody listened send no event at their end, and the resync ends them",
        ),
        None => warnings.push((
            "EVENTS_MISSING",
            "this kernel was built without conntrack events: the resync alone sees connections; poll instead".to_owned(),
        )),
        Some(EventMode::Always | EventMode::Autodetect) => {}
    }
    warnings
}

/// A code and a sentence where the event socket's receive buffer is smaller than what was asked for, both in octets.
pub(crate) fn event_buffer_capped(asked: usize, granted: usize) -> Option<(&'static str, String)> {
    (granted < asked).then(|| {
        (
            "EVENT_BUFFER_CAPPED",
            format!(
                "the event socket's receive buffer has {granted} octets instead of the {asked} asked for, so that a storm of \
                 events overruns it sooner: set net.core.rmem_max to {asked} (sysctl -w net.core.rmem_max={asked}), or run \
                 with CAP_NET_ADMIN in the first user namespace"
            ),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_as_large_as_asked_for_is_not_warned_of() {
        assert_eq!(event_buffer_capped(4096, 4096), None);
        assert_eq!(event_buffer_capped(4096, 4608), None);
    }

    const SOUND: Settings = Settings {
        accounting: true,
        timestamps: true,
        events: Some(EventMode::Always),
        max: 262_144,
        buckets: 65_536,
        count: 7,
    };

    fn codes(settings: Settings, follows_events: bool) -> Vec<&'static str> {
        warnings(Ok(settings), follows_events)
            .into_iter()
            .map(|(code, _)| code)
            .collect()
    }

    #[test]
    fn sound_settings_warn_of_nothing() {
        assert!(codes(SOUND, true).is_empty());
        assert!(
            codes(
                Settings {
                    events: None,
                    ..SOUND
                },
                false
            )
            .is_empty()
        );
    }

    #[test]
    fn each_setting_that_matters_is_named_with_what_to_do() {
        let off = Settings {
            accounting: false,
            timestamps: false,
            events: Some(EventMode::Off),
            ..SOUND
        };
        assert_eq!(
            codes(off, true),
            ["ACCOUNTING_OFF", "TIMESTAMPS_OFF", "EVENTS_OFF"]
        );
        let (_, text) = warnings(Ok(off), false).swap_remove(0);
        assert!(
            text.ends_with("set it to 1 (sysctl -w net.netfilter.nf_conntrack_acct=1)"),
            "{text}"
        );
    }

    #[test]
    fn settings_that_cannot_be_read_are_said_to_be_unknown() {
        let path = "/proc/sys/net/netfilter/nf_conntrack_acct".into();
        let source = std::io::ErrorKind::PermissionDenied.into();
        let unreadable = Err(netfilter::Error::Sysctl { path, source });
        let [(code, text)] = <[_; 1]>::try_from(warnings(unreadable, false)).unwrap();
        assert_eq!(code, "SETTINGS_UNREADABLE");
        assert!(
            text.contains("nf_conntrack_acct: permission denied"),
            "{text}"
        );
    }

    #[test]
    fn autodetection_matters_only_to_connections_older_than_the_listener() {
        let autodetect = Settings {
            events: Some(EventMode::Autodetect),
            ..SOUND
        };
        assert_eq!(codes(autodetect, true), ["EVENTS_AUTODETECT"]);
        assert!(
            codes(
                Settings {
                    count: 0,
                    ..autodetect
                },
                true
            )
            .is_empty()
        );
    }
}
