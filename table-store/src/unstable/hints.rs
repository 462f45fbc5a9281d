//! Functions that users of other libraries expect. None of them can be called: they exist for the compiler's messages.
//!
//! The condition of each function is a trait that [`TableStorage`] does not implement. The compiler prints the message of
//! this trait, and no type of the query. A function takes any arguments and returns any type, so the compiler knows neither:
//! after its message it says nothing about what follows.
//!
//! A function takes `&mut self`, because the compiler tries such methods last: those of the program's own traits come first.

/// The type that implements none of the traits of hints.
#[derive(Debug)]
pub enum TableStorage {}

/// Defines the traits whose messages the compiler prints.
#[macro_export]
#[doc(hidden)]
macro_rules! hints {
    ($($hint:ident: $message:literal, $label:literal $(, $note:literal)*;)*) => {$(
        #[doc = concat!("Message: ", $message, ": ", $label, ".")]
        $(#[doc = concat!("\n- ", $note)])*
        #[diagnostic::on_unimplemented(message = $message, label = $label $(, note = $note)*)]
        pub trait $hint {}
    )*};
}

/// Defines functions with a condition that does not hold; `trait` before those of a trait. The names of the hints must be in
/// scope: the compiler then shows the line of the functions, and not this macro.
#[macro_export]
#[doc(hidden)]
macro_rules! missing {
    // Each function, with its visibility and its list of parameters.
    (@ $hint:tt $vis:vis $name:ident<$($parameter:ident),+>($($arguments:tt)*) -> $returned:ty) => {
        #[doc(hidden)]
        #[allow(
            clippy::should_implement_trait,
            clippy::new_ret_no_self,
            clippy::iter_not_returning_iterator,
            reason = "it cannot be called"
        )]
        $vis fn $name<$($parameter),+>($($arguments)*) -> $returned
        where
            Self: Sized,
            for<'never> $crate::unstable::hints::TableStorage: $hint,
        {
            unreachable!("no type implements the hint")
        }
    };
    // Functions whose calls name a type, `query::<Post>()`: all of their parameters are those of such calls.
    (generic $hint:tt: $($name:ident<$($parameter:ident),+>($($argument:tt),*) -> $returned:ty),+ $(,)?) => {$(
        $crate::missing! { @ $hint pub $name<$($parameter),+>(&mut self $(, $argument: impl Sized)*) -> $returned }
    )+};
    (trait generic $hint:tt: $($name:ident<$($parameter:ident),+>($($argument:tt),*) -> $returned:ty),+ $(,)?) => {$(
        $crate::missing! { @ $hint $name<$($parameter),+>(&mut self $(, $argument: impl Sized)*) -> $returned }
    )+};
    // Constructors.
    (static $hint:tt: $($name:ident($($argument:tt),*)),+ $(,)?) => {$(
        $crate::missing! { @ $hint pub $name<Unknown>($($argument: impl Sized),*) -> Unknown }
    )+};
    (trait $hint:tt: $($name:ident($($argument:tt),*)),+ $(,)?) => {$(
        $crate::missing! { @ $hint $name<Unknown>(&mut self $(, $argument: impl Sized)*) -> Unknown }
    )+};
    ($hint:tt: $($name:ident($($argument:tt),*)),+ $(,)?) => {$(
        $crate::missing! { @ $hint pub $name<Unknown>(&mut self $(, $argument: impl Sized)*) -> Unknown }
    )+};
}
