//! One JSON object, member by member, in the words in which records are written.

use super::{LargeNumbers, text, write_value};
use crate::decode::value::Value;

/// Appends a JSON object to a text. Values look as those of a decoded record do; integers are numbers, however large.
#[derive(Debug)]
pub struct JsonObject<'a> {
    out: &'a mut Vec<u8>,
    /// What comes before the next member.
    before: u8,
}

impl<'a> JsonObject<'a> {
    /// Begins an object at the end of `out`. It is whole after [`JsonObject::end`].
    pub fn begin(out: &'a mut Vec<u8>) -> Self {
        Self { out, before: b'{' }
    }

    /// Adds a member. `name` is written as text; [`Value::Skipped`] adds none.
    pub fn member(&mut self, name: &str, value: Value<'_>) {
        if value != Value::Skipped {
            self.name(name);
            write_value(value, LargeNumbers::Numbers, self.out);
        }
    }

    /// Adds a member that is a list of texts.
    pub fn texts<'t>(&mut self, name: &str, texts: impl IntoIterator<Item = &'t str>) {
        self.name(name);
        let mut before = b'[';
        for text in texts {
            self.out.push(before);
            text::write(text.as_bytes(), self.out);
            before = b',';
        }
        if before == b'[' {
            self.out.push(before);
        }
        self.out.push(b']');
    }

    /// Adds a member that is an object with the members that `fill` adds.
    pub fn object(&mut self, name: &str, fill: impl FnOnce(&mut JsonObject<'_>)) {
        self.name(name);
        let mut object = JsonObject::begin(self.out);
        fill(&mut object);
        object.end();
    }

    /// Ends the object.
    pub fn end(self) {
        if self.before == b'{' {
            self.out.push(b'{');
        }
        self.out.push(b'}');
    }

    fn name(&mut self, name: &str) {
        self.out.push(self.before);
        self.before = b',';
        text::write(name.as_bytes(), self.out);
        self.out.push(b':');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(fill: impl FnOnce(&mut JsonObject<'_>)) -> String {
        let mut out = b"before ".to_vec();
        let mut object = JsonObject::begin(&mut out);
        fill(&mut object);
        object.end();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn members_follow_one_another_in_the_words_of_records() {
        let text = written(|object| {
            object.member("mark", Value::Unsigned(u64::MAX));
            object.member("left out", Value::Skipped);
            object.member("address", Value::Address([192, 0, 2, 1].into()));
            object.member("start", Value::Milliseconds(1_709_251_199_007));
            object.texts("status", ["ASSURED", "a \"word\""]);
            object.texts("none", []);
            object.object("master", |object| {
                object.member("helper", Value::Text(b"ftp"));
            });
            object.object("empty", |_| {});
        });
        assert_eq!(
            text,
            "before {\"mark\":18446744073709551615,\"address\":\"192.0.2.1\",\
             \"start\":\"2024-02-29T23:59:59.007Z\",\"status\":[\"ASSURED\",\"a \\\"word\\\"\"],\"none\":[],\
             \"master\":{\"helper\":\"ftp\"},\"empty\":{}}"
        );
    }

    #[test]
    fn an_object_without_members_is_an_object() {
        assert_eq!(written(|_| {}), "before {}");
    }
}
