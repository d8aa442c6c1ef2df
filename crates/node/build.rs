//! Prepares the link to Node.

fn main() {
    napi_build::setup();
}
