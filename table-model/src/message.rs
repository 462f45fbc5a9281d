//! Messages of constants. The compiler prints them, and a constant cannot format.

/// A text that is built at compile time.
pub struct Message {
    text: [u8; 8192],
    length: usize,
}

impl Message {
    /// Returns the template, with the argument of the same number in place of each `{0}`, `{1}` ….
    pub const fn new(template: &str, arguments: &[&str]) -> Self {
        let (mut message, mut template) = (Self { text: [0; 8192], length: 0 }, template.as_bytes());
        loop {
            template = match template {
                [b'{', number @ b'0'..=b'9', b'}', rest @ ..] => {
                    message.push(arguments[(*number - b'0') as usize].as_bytes());
                    rest
                }
                [byte, rest @ ..] => {
                    message.push(&[*byte]);
                    rest
                }
                [] => return message,
            };
        }
    }

    /// Returns the digits of the number.
    pub const fn number(number: usize) -> Self {
        let digit = "0123456789".split_at(number % 10).1.split_at(1).0;
        if number < 10 {
            return Self::new(digit, &[]);
        }
        Self::new("{0}{1}", &[Self::number(number / 10).as_str(), digit])
    }

    const fn push(&mut self, more: &[u8]) {
        // A cut text could hide what to change.
        assert!(more.len() <= self.text.len() - self.length, "the names in a message are too long to be printed");
        self.text.split_at_mut(self.length).1.split_at_mut(more.len()).0.copy_from_slice(more);
        self.length += more.len();
    }

    /// Returns the text.
    pub const fn as_str(&self) -> &str {
        match str::from_utf8(self.text.split_at(self.length).0) {
            Ok(text) => text,
            Err(_) => panic!("a message is made of texts"),
        }
    }
}

/// Stops the build with a [`Message`]. With `#[track_caller]` on each function in between, the compiler points at the
/// call in generated code.
#[track_caller]
pub const fn stop(template: &str, arguments: &[&str]) -> ! {
    panic!("{}", Message::new(template, arguments).as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_has_the_arguments_in_place_of_their_numbers() {
        assert_eq!(Message::new("`{1}` and `{0}`: write `{…}`", &["é", "two"]).as_str(), "`two` and `é`: write `{…}`");
        assert_eq!([0, 9, 1024].map(|number| Message::number(number).as_str().to_owned()), ["0", "9", "1024"]);
    }

    #[test]
    #[should_panic(expected = "too long")]
    fn a_message_is_never_cut() {
        Message::new("{0}{0}", &["a".repeat(5000).as_str()]);
    }
}
