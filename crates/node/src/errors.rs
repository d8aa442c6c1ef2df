//! Errors as JavaScript sees them: an `Error` with a `code`.

use napi::Status;

/// The `code` of an error.
pub struct Code(String);

impl AsRef<str> for Code {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

/// What napi itself finds wrong, such as an argument of another type.
impl From<Status> for Code {
    fn from(status: Status) -> Self {
        match status {
            Status::GenericFailure => Self("ERR_INTERNAL".to_owned()),
            _ => Self("ERR_INVALID_ARG_TYPE".to_owned()),
        }
    }
}

pub type Result<T> = std::result::Result<T, napi::Error<Code>>;

pub fn error(code: &str, message: impl Into<String>) -> napi::Error<Code> {
    napi::Error::new(Code(code.to_owned()), message.into())
}

pub fn agent(cause: agent::Error) -> napi::Error<Code> {
    error(cause.code(), cause.to_string())
}

pub fn netfilter(cause: netfilter::Error) -> napi::Error<Code> {
    error(cause.code(), cause.to_string())
}

pub fn napi(cause: napi::Error) -> napi::Error<Code> {
    napi::Error::new(Code::from(cause.status), cause.reason.clone())
}
