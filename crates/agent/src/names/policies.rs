//! The rules of network policies that are known, by the numbers that connections' labels carry.
//!
//! Data enters as a list of [`PolicyRule`]s, whole each time. A rule that is gone from the list stays known for a while, for
//! the connections that it let in before; [`KnownRules`] are both.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use ahash::RandomState;
use ipfix::PolicyNames;

use super::json::Node;
use super::pods::MAX_TEXT;
use super::wrong::{Got, NamesError, PathKey};

/// One rule, as its owner tells of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyRule {
    /// As labels carry it; not 0.
    pub number: u32,
    /// The policy that it is of, and what it does.
    pub names: PolicyNames,
}

/// Rules of one set: about 50 MB with names of Kubernetes' usual lengths.
const MAX_RULES: usize = 262_144;

/// Rules that are gone and still known; more are forgotten at once.
const MAX_DEPARTED: usize = 65_536;

/// A whole set of rules.
#[derive(Debug, Default)]
pub struct PolicyRules {
    by_number: HashMap<u32, Arc<PolicyNames>, RandomState>,
}

impl PolicyRules {
    /// Takes the list over. No two rules may have one number.
    pub fn new(list: Vec<PolicyRule>) -> Result<Self, NamesError> {
        if list.len() > MAX_RULES {
            let got = format!("{} rules", list.len());
            return Err(NamesError::text(
                LIST,
                [],
                got,
                format!("at most {MAX_RULES} rules"),
            ));
        }
        let mut by_number = HashMap::with_capacity_and_hasher(list.len(), RandomState::new());
        for (place, PolicyRule { number, names }) in list.into_iter().enumerate() {
            let wrong = |expected| {
                let path: [PathKey; 2] = [place.into(), "number".into()];
                Err(NamesError::new(
                    LIST,
                    path,
                    Got::Json(number.to_string()),
                    expected,
                ))
            };
            if number == 0 {
                return wrong(NUMBER);
            }
            match by_number.entry(number) {
                Entry::Vacant(entry) => entry.insert(Arc::new(names)),
                Entry::Occupied(_) => return wrong("a number that no other rule has"),
            };
        }
        Ok(Self { by_number })
    }

    /// A list of objects with `number`, `name`, `namespace`, `type`, `rule` and `action`; `namespace`, `rule` and `action`
    /// may be missing.
    pub fn from_json(json: &str) -> Result<Self, NamesError> {
        let list = Node::whole(LIST, json)?;
        let elements = list.elements("a list of rules")?;
        let rules = elements.iter().enumerate();
        let rules: Result<_, _> = rules
            .map(|(place, raw)| rule(&list.at(place, raw)))
            .collect();
        Self::new(rules?)
    }
}

/// The rules of the present set, and those of former ones that are known for a while.
#[derive(Debug, Default)]
pub(crate) struct KnownRules {
    present: Arc<PolicyRules>,
    /// With the monotonic ms at which each is forgotten.
    departed: HashMap<u32, (Arc<PolicyNames>, u64), RandomState>,
}

impl KnownRules {
    pub(crate) fn new(present: Arc<PolicyRules>) -> Self {
        Self {
            present,
            departed: HashMap::default(),
        }
    }

    /// What is known once `present` is all there is; what goes now is known until `until_ms`.
    pub(crate) fn followed_by(
        &self,
        present: Arc<PolicyRules>,
        now_ms: u64,
        until_ms: u64,
    ) -> Self {
        let gone = |number: &u32| !present.by_number.contains_key(number);
        let before = self.departed.iter();
        let before = before.map(|(&number, (names, until))| (number, (Arc::clone(names), *until)));
        let now = self.present.by_number.iter();
        let now = now.map(|(&number, names)| (number, (Arc::clone(names), until_ms)));
        let departed = now
            .chain(before)
            .filter(|(number, (_, until))| gone(number) && *until > now_ms)
            .take(MAX_DEPARTED)
            .collect();
        Self { present, departed }
    }

    pub(crate) fn get(&self, number: u32, now_ms: u64) -> Option<&PolicyNames> {
        let present = self.present.by_number.get(&number);
        let departed = || {
            let (names, until_ms) = self.departed.get(&number)?;
            (now_ms < *until_ms).then_some(names)
        };
        present.or_else(departed).map(|names| &**names)
    }
}

/// Which bits of a connection's labels carry a rule's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LabelBits {
    first: u8,
    count: u8,
}

impl LabelBits {
    /// `count` bits (1 to 32) from bit `first` on, of 128. None: there are no such bits.
    pub fn new(first: u8, count: u8) -> Option<Self> {
        let fits = (1..=32).contains(&count) && u32::from(first) + u32::from(count) <= 128;
        fits.then_some(Self { first, count })
    }

    /// The number that these labels carry; 0: none. Labels are a bitmap of the machine's words (`nf_conntrack_labels.h`).
    pub(crate) fn of(self, labels: &[u8; 16]) -> u32 {
        let (words, _) = labels.as_chunks::<8>();
        let bits = words.iter().rev().fold(0_u128, |bits, word| {
            bits << 64 | u128::from(u64::from_ne_bytes(*word))
        });
        let mask = (1_u64 << self.count) - 1;
        ((bits >> self.first) as u64 & mask) as u32
    }
}

/// Where rules' numbers stand in the labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuleLabels {
    /// The rule that let the connection in at its destination.
    pub ingress: LabelBits,
    /// The rule that let it out at its source.
    pub egress: LabelBits,
}

/// Antrea's: ingress in bits 0 to 31, egress in 32 to 63.
impl Default for RuleLabels {
    fn default() -> Self {
        let bits = |first| LabelBits { first, count: 32 };
        Self {
            ingress: bits(0),
            egress: bits(32),
        }
    }
}

const LIST: &str = "policyRules";
const NUMBER: &str = "a whole number from 1 to 4294967295";
const KEYS: [&str; 6] = ["number", "name", "namespace", "type", "rule", "action"];
/// As `ingressNetworkPolicyType` numbers them.
const TYPES: [(&str, u8); 4] = [
    ("K8sNetworkPolicy", 1),
    ("AntreaNetworkPolicy", 2),
    ("AntreaClusterNetworkPolicy", 3),
    ("K8sClusterNetworkPolicy", 4),
];
/// As `ingressNetworkPolicyRuleAction` numbers them.
const ACTIONS: [(&str, u8); 3] = [("allow", 1), ("drop", 2), ("reject", 3)];

fn rule(node: &Node<'_, '_>) -> Result<PolicyRule, NamesError> {
    let fields = node.fields(&KEYS, "an object with number, name and type")?;
    let optional = |key, expected| match node.key(&fields, key) {
        Some(text) => text.text(MAX_TEXT, expected).map(String::from),
        None => Ok(String::new()),
    };
    let expected = "the policy's name";
    let name = node.required(&fields, "name", expected)?;
    let name = name.name(MAX_TEXT, expected)?;
    let kind = node.required(&fields, "type", "the policy's type")?;
    let action = node.key(&fields, "action");
    Ok(PolicyRule {
        number: node.required(&fields, "number", NUMBER)?.number(NUMBER)?,
        names: PolicyNames {
            name: name.into(),
            namespace: optional("namespace", "the policy's namespace, which may be empty")?,
            policy_type: kind.choice(&TYPES)?,
            rule_name: optional("rule", "the rule's name, which may be empty")?,
            rule_action: action.map_or(Ok(1), |action| action.choice(&ACTIONS))?,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(list: &[(u32, &str)]) -> Arc<PolicyRules> {
        let list = list.iter().map(|&(number, name)| PolicyRule {
            number,
            names: PolicyNames {
                name: name.to_owned(),
                ..PolicyNames::default()
            },
        });
        Arc::new(PolicyRules::new(list.collect()).unwrap())
    }

    #[test]
    fn labels_carry_numbers_in_the_bits_that_were_said() {
        // Set bit by bit, as the kernel's set_bit does: bit n of the machine's words.
        let labels = |bits: &[usize]| {
            let mut words = [0_u64; 2];
            for bit in bits {
                words[bit / 64] |= 1 << (bit % 64);
            }
            let mut octets = [0; 16];
            octets[..8].copy_from_slice(&words[0].to_ne_bytes());
            octets[8..].copy_from_slice(&words[1].to_ne_bytes());
            octets
        };
        let RuleLabels { ingress, egress } = RuleLabels::default();
        let both = labels(&[0, 2, 31, 33, 63, 64]);
        assert_eq!(ingress.of(&both), 0x8000_0005);
        assert_eq!(egress.of(&both), 0x8000_0002);
        let across = LabelBits::new(60, 8).unwrap();
        assert_eq!(across.of(&labels(&[59, 60, 64, 67, 68])), 0b1001_0001);
        assert_eq!(LabelBits::new(127, 1).unwrap().of(&labels(&[127])), 1);
        for (first, count) in [(0, 0), (0, 33), (97, 32), (128, 1)] {
            assert_eq!(LabelBits::new(first, count), None);
        }
    }

    #[test]
    fn a_rule_that_is_gone_is_known_for_its_time_and_its_number_may_serve_another() {
        let name = |known: &KnownRules, number, now_ms| {
            known
                .get(number, now_ms)
                .map(|names| &*names.name)
                .map(str::to_owned)
        };
        let known = KnownRules::new(rules(&[(1, "a"), (2, "b"), (3, "c")]));
        let known = known.followed_by(rules(&[(1, "a"), (3, "new c")]), 1_000, 6_000);
        assert_eq!(name(&known, 2, 1_000).as_deref(), Some("b"));
        assert_eq!(name(&known, 3, 1_000).as_deref(), Some("new c"));
        let known = known.followed_by(rules(&[(3, "new c")]), 2_000, 7_000);
        assert_eq!(name(&known, 2, 5_999).as_deref(), Some("b"));
        assert_eq!(name(&known, 2, 6_000), None);
        assert_eq!(name(&known, 1, 6_999).as_deref(), Some("a"));
        assert_eq!(name(&known, 1, 7_000), None);
        assert_eq!(name(&known, 3, 7_000).as_deref(), Some("new c"));
        let known = known.followed_by(rules(&[]), 7_000, 12_000);
        assert_eq!(
            known.departed.len(),
            1,
            "those whose time is over are dropped"
        );
    }

    #[test]
    fn rules_that_are_gone_are_bounded() {
        let many: Vec<(u32, &str)> = (1..=100_000).map(|number| (number, "r")).collect();
        let known = KnownRules::new(rules(&many)).followed_by(rules(&[]), 0, 10);
        assert_eq!(known.departed.len(), MAX_DEPARTED);
    }

    #[test]
    fn json_gives_all_that_a_rule_has() {
        let set = PolicyRules::from_json(
            r#"[{"number":7,"name":"web-in","namespace":"shop","type":"AntreaNetworkPolicy","rule":"from-lb","action":"reject"},
                {"number":4294967295,"name":"all","type":"AntreaClusterNetworkPolicy"}]"#,
        )
        .unwrap();
        let expected = PolicyNames {
            name: "web-in".into(),
            namespace: "shop".into(),
            policy_type: 2,
            rule_name: "from-lb".into(),
            rule_action: 3,
        };
        assert_eq!(*set.by_number[&7], expected);
        let all = &set.by_number[&u32::MAX];
        assert_eq!(
            (all.policy_type, all.rule_action, &*all.namespace),
            (3, 1, "")
        );
    }

    #[test]
    fn a_wrong_list_is_refused_with_the_place_and_what_to_do() {
        let of = |more: &str| format!(r#"[{{"name":"a",{more}}}]"#);
        let types = "one of K8sNetworkPolicy, AntreaNetworkPolicy, AntreaClusterNetworkPolicy, K8sClusterNetworkPolicy";
        let cases = [
            (of(r#""number":0,"type":"K8sNetworkPolicy""#), format!("policyRules[0].number: got 0, expected {NUMBER}")),
            (of(r#""number":4294967296,"type":"K8sNetworkPolicy""#), format!("policyRules[0].number: got 4294967296, expected {NUMBER}")),
            (of(r#""number":1,"type":"K8s""#), format!("policyRules[0].type: got \"K8s\", expected {types}")),
            (of(r#""number":1,"type":"K8sNetworkPolicy","action":"deny""#), "policyRules[0].action: got \"deny\", expected one of allow, drop, reject".into()),
            (
                r#"[{"number":5,"name":"a","type":"K8sNetworkPolicy"},{"number":5,"name":"b","type":"K8sNetworkPolicy"}]"#.into(),
                "policyRules[1].number: got 5, expected a number that no other rule has".into(),
            ),
        ];
        for (json, message) in cases {
            assert_eq!(
                PolicyRules::from_json(&json).unwrap_err().to_string(),
                message
            );
        }
    }
}
