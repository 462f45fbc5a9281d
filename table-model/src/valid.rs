//! One message for one mistake: types of generated code that are an error if the compiler has refused a constant.
//!
//! The compiler evaluates the constant in a type to know the type. If it has reported an error in the constant, the type is
//! unknown, and the compiler reports nothing more about what has an unknown type: no argument, no method and no field.
//! A trait's bound would be reported once more at each use.

/// The proof that a type is what an attribute says, if `IS_VALID` compiles.
#[allow(missing_debug_implementations, reason = "no value of it exists")]
pub struct Proof<const IS_VALID: bool>;

/// Names `T`.
pub trait Names<T> {
    type Type;
}

impl<T> Names<T> for Proof<true> {
    type Type = T;
}

/// `T`, or an unknown type if the constant `IS_VALID` does not compile.
pub type Valid<T, const IS_VALID: bool> = <Proof<IS_VALID> as Names<T>>::Type;

/// Returns true. The call compiles if the types in its argument exist.
pub const fn exists<T>() -> bool {
    true
}
