use table_runtime::Error;

fn is_conflict(error: &Error) -> bool {
    error.kind() == table_runtime::ErrorKind::AlreadyExists
}

fn main() {}
