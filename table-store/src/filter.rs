//! Conditions on properties, which backends evaluate, and their OData text.

use std::{borrow::Cow, cmp::Ordering, fmt, mem};

use crate::{PropertiesRef, Value, ValueRef, unstable::order};

/// An untyped condition on a row's properties. Users write a typed `Filter` instead.
#[derive(Clone, Debug, PartialEq)]
pub enum Condition {
    /// A comparison of a property with a value. It is false if the property is missing, or if the value has another
    /// type. `Edm.Int32`, `Edm.Int64` and `Edm.Double` are compared with each other.
    Compare {
        /// The property's name.
        property: Cow<'static, str>,
        /// The comparison.
        operator: Operator,
        /// The value.
        value: Value,
    },
    /// Both conditions hold.
    And(Box<Condition>, Box<Condition>),
    /// At least one of the conditions holds.
    Or(Box<Condition>, Box<Condition>),
    /// The condition does not hold.
    Not(Box<Condition>),
}

/// A comparison operator of OData.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "they say themselves")]
pub enum Operator {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

impl Operator {
    fn holds(self, ordering: Option<Ordering>) -> bool {
        match (self, ordering) {
            (Self::Eq, ordering) => ordering == Some(Ordering::Equal),
            // NaN differs from everything.
            (Self::Ne, ordering) => ordering != Some(Ordering::Equal),
            (_, None) => false,
            (Self::Lt, Some(ordering)) => ordering.is_lt(),
            (Self::Le, Some(ordering)) => ordering.is_le(),
            (Self::Gt, Some(ordering)) => ordering.is_gt(),
            (Self::Ge, Some(ordering)) => ordering.is_ge(),
        }
    }
}

impl Operator {
    /// Returns the operator that holds for two values with an order if this one does not.
    #[doc(hidden)]
    #[must_use]
    pub fn opposite(self) -> Self {
        match self {
            Self::Eq => Self::Ne,
            Self::Ne => Self::Eq,
            Self::Lt => Self::Ge,
            Self::Le => Self::Gt,
            Self::Gt => Self::Le,
            Self::Ge => Self::Lt,
        }
    }
}

impl fmt::Display for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Eq => "eq",
            Self::Ne => "ne",
            Self::Lt => "lt",
            Self::Le => "le",
            Self::Gt => "gt",
            Self::Ge => "ge",
        })
    }
}

impl Condition {
    /// Checks whether the condition holds for a row with these properties.
    pub fn holds(&self, properties: PropertiesRef<'_>) -> bool {
        match self {
            Self::Compare { property, operator, value } => properties.get(property).is_some_and(|found| {
                let value = value.as_ref();
                let comparable = found.edm_type() == value.edm_type() || (is_number(found) && is_number(value));
                comparable && operator.holds(compare(found, value))
            }),
            Self::And(left, right) => left.holds(properties) && right.holds(properties),
            Self::Or(left, right) => left.holds(properties) || right.holds(properties),
            Self::Not(condition) => !condition.holds(properties),
        }
    }

    /// Returns true if `is_such` is true for every property that the condition compares.
    #[doc(hidden)]
    pub fn compares_only(&self, is_such: &impl Fn(&str) -> bool) -> bool {
        match self {
            Self::Compare { property, .. } => is_such(property),
            Self::And(left, right) | Self::Or(left, right) => {
                left.compares_only(is_such) && right.compares_only(is_such)
            }
            Self::Not(condition) => condition.compares_only(is_such),
        }
    }

    /// Returns the number of comparisons. The service accepts 15 in a query, those of the keys included.
    pub fn comparisons(&self) -> usize {
        self.size().comparisons
    }

    /// Counts the comparisons and the negations, without recursion, so that a condition of any depth can be counted.
    #[doc(hidden)]
    pub fn size(&self) -> Size {
        let mut size = Size { comparisons: 0, negations: 0 };
        let mut rest = vec![self];
        while let Some(condition) = rest.pop() {
            match condition {
                Self::Compare { .. } => size.comparisons += 1,
                Self::And(left, right) | Self::Or(left, right) => rest.extend([&**left, &**right]),
                Self::Not(inner) => {
                    size.negations += 1;
                    rest.push(inner);
                }
            }
        }
        size
    }

    /// A placeholder, such as for a condition that is moved out of its box.
    #[doc(hidden)]
    pub const NOTHING: Self =
        Self::Compare { property: Cow::Borrowed(""), operator: Operator::Eq, value: Value::Boolean(false) };

    /// Moves the conditions inside this one that are not comparisons to `rest`.
    fn dismantle(&mut self, rest: &mut Vec<Self>) {
        let mut take = |inner: &mut Self| {
            if !matches!(inner, Self::Compare { .. }) {
                rest.push(mem::replace(inner, Self::NOTHING));
            }
        };
        match self {
            Self::Compare { .. } => {}
            Self::And(left, right) | Self::Or(left, right) => {
                take(left);
                take(right);
            }
            Self::Not(inner) => take(inner),
        }
    }
}

/// Number of the comparisons and of the negations in a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Number of comparisons.
    pub comparisons: usize,
    /// Number of negations.
    pub negations: usize,
}

/// Drops a condition of any depth without recursion, so that a condition that is too deep can be refused without a
/// stack overflow.
impl Drop for Condition {
    fn drop(&mut self) {
        let mut rest = Vec::new();
        self.dismantle(&mut rest);
        while let Some(mut condition) = rest.pop() {
            condition.dismantle(&mut rest);
        }
    }
}

fn is_number(value: ValueRef<'_>) -> bool {
    matches!(value, ValueRef::Int32(_) | ValueRef::Int64(_) | ValueRef::Double(_))
}

/// Returns the order of two values of the same type, or of two numbers. Texts are compared by UTF-16 unit, as the
/// service compares them.
fn compare(left: ValueRef<'_>, right: ValueRef<'_>) -> Option<Ordering> {
    match (left, right) {
        (ValueRef::String(left), ValueRef::String(right)) => Some(order::compare(left, right)),
        (ValueRef::Binary(left), ValueRef::Binary(right)) => Some(left.cmp(right)),
        (ValueRef::Boolean(left), ValueRef::Boolean(right)) => Some(left.cmp(&right)),
        (ValueRef::Guid(left), ValueRef::Guid(right)) => Some(left.cmp(&right)),
        (ValueRef::DateTime(left), ValueRef::DateTime(right)) => Some(left.cmp(&right)),
        (ValueRef::Double(left), ValueRef::Double(right)) => left.partial_cmp(&right),
        (ValueRef::Double(left), right) => compare_with_double(whole(right)?, left).map(Ordering::reverse),
        (left, ValueRef::Double(right)) => compare_with_double(whole(left)?, right),
        (left, right) => Some(whole(left)?.cmp(&whole(right)?)),
    }
}

fn whole(value: ValueRef<'_>) -> Option<i64> {
    match value {
        ValueRef::Int32(value) => Some(value.into()),
        ValueRef::Int64(value) => Some(value),
        _ => None,
    }
}

/// Compares an integer with a double exactly: a conversion of the integer to a double could round it.
fn compare_with_double(integer: i64, double: f64) -> Option<Ordering> {
    /// 2^63, the first integer above the range of `i64`.
    const END: f64 = 9_223_372_036_854_775_808.0;
    if double.is_nan() {
        return None;
    }
    if double >= END {
        return Some(Ordering::Less);
    }
    if double < -END {
        return Some(Ordering::Greater);
    }
    // If the whole parts are equal, the fraction decides.
    #[allow(clippy::cast_possible_truncation, reason = "in the range of 64 bits, and whole")]
    let below = double.floor() as i64;
    let fraction = if double > double.floor() { Ordering::Less } else { Ordering::Equal };
    Some(integer.cmp(&below).then(fraction))
}

/// The OData text, such as `Title eq 'x' and Likes ge 10`.
impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Compare { property, operator, value } => write!(f, "{property} {operator} {}", value.as_ref()),
            Self::And(left, right) => write!(f, "({left}) and ({right})"),
            Self::Or(left, right) => write!(f, "({left}) or ({right})"),
            Self::Not(condition) => write!(f, "not ({condition})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{
        Properties,
        backend::{KeyRange, Partitions, Scan},
    };

    /// Returns a number as a signed mantissa and an exponent of two: exactly `mantissa * 2^exponent`.
    fn exact(value: ValueRef<'_>) -> Option<(i128, i32)> {
        match value {
            ValueRef::Double(double) if double.is_finite() => {
                let bits = double.to_bits();
                let exponent = i32::try_from(bits >> 52 & 0x7FF).expect("11 bits");
                let fraction = i128::from(bits & ((1 << 52) - 1));
                let (mantissa, exponent) =
                    if exponent == 0 { (fraction, -1074) } else { (fraction + (1 << 52), exponent - 1075) };
                Some((if double.is_sign_negative() { -mantissa } else { mantissa }, exponent))
            }
            ValueRef::Double(_) => None,
            other => whole(other).map(|number| (number.into(), 0)),
        }
    }

    /// Returns the order of two numbers, computed exactly: by their signs, then by their highest bits, then by all
    /// their digits.
    fn expected(left: ValueRef<'_>, right: ValueRef<'_>) -> Option<Ordering> {
        let infinite = |value| match value {
            ValueRef::Double(double) if double.is_infinite() => Some(if double > 0.0 { 1 } else { -1 }),
            _ => None,
        };
        match (exact(left), exact(right)) {
            (Some((left, left_exponent)), Some((right, right_exponent))) => {
                let sign = left.signum().cmp(&right.signum());
                if sign.is_ne() || left == 0 {
                    return Some(sign);
                }
                // The position of the highest bit decides first, then the binary digits, of which there are at most 64.
                let align = |number: i128| number.unsigned_abs() << number.unsigned_abs().leading_zeros();
                let top = |number: i128, exponent: i32| {
                    i32::try_from(number.unsigned_abs().ilog2()).expect("below 128") + exponent
                };
                let magnitude =
                    top(left, left_exponent).cmp(&top(right, right_exponent)).then(align(left).cmp(&align(right)));
                Some(if left < 0 { magnitude.reverse() } else { magnitude })
            }
            (left_exact, right_exact) => {
                let rank = |value, exact: Option<_>| infinite(value).or(exact.map(|_| 0));
                Some(rank(left, left_exact)?.cmp(&rank(right, right_exact)?))
            }
        }
    }

    fn number() -> impl Strategy<Value = Value> {
        let corner = prop::sample::select(vec![0, 1, -1, 1 << 53, (1 << 53) + 1, -(1 << 53) - 1, i64::MAX, i64::MIN]);
        let integer = prop_oneof![corner, any::<i64>(), -3..4_i64];
        #[allow(clippy::cast_precision_loss, reason = "near an integer")]
        let near = integer.clone().prop_map(|number| number as f64);
        let half = (-3..4_i32).prop_map(|number| f64::from(number) / 2.0);
        prop_oneof![
            integer.prop_map(Value::Int64),
            prop_oneof![any::<i32>(), -3..4_i32].prop_map(Value::Int32),
            prop_oneof![near, half, any::<f64>()].prop_map(Value::Double),
        ]
    }

    depth::laws! {
        50_000;

        fn numbers_of_all_types_are_compared_exactly(left in number(), right in number()) {
            let (left, right) = (left.as_ref(), right.as_ref());
            prop_assert_eq!(compare(left, right), expected(left, right));
            prop_assert_eq!(compare(right, left), compare(left, right).map(Ordering::reverse));
            let mut properties = Properties::default();
            properties.push("N", left);
            let holds = |operator| {
                Condition::Compare { property: "N".into(), operator, value: right.to_value() }.holds(properties.as_ref())
            };
            let order = expected(left, right);
            prop_assert_eq!(holds(Operator::Eq), order == Some(Ordering::Equal));
            prop_assert_eq!(holds(Operator::Ne), order != Some(Ordering::Equal));
            prop_assert_eq!(holds(Operator::Lt), order == Some(Ordering::Less));
            prop_assert_eq!(holds(Operator::Ge), order.is_some_and(Ordering::is_ge));
        }
    }

    #[test]
    fn a_condition_that_is_too_deep_is_refused_and_dropped() {
        let likes = || Condition::Compare { property: "Likes".into(), operator: Operator::Eq, value: Value::Int32(1) };
        let joined: [fn(Condition, Condition) -> Condition; 4] = [
            |deep, more| Condition::And(deep.into(), more.into()),
            |deep, more| Condition::And(more.into(), deep.into()),
            |deep, more| Condition::Or(deep.into(), more.into()),
            |deep, _| Condition::Not(deep.into()),
        ];
        for join in joined {
            let deep = (0..200_000).fold(likes(), |deep, _| join(deep, likes()));
            let scan = Scan {
                table: "Posts".into(),
                partitions: Partitions::ALL,
                rows: KeyRange::ALL,
                filter: Some(deep),
                select: None,
                page: 1000,
            };
            let error = scan.check().expect_err("it is too deep");
            assert!(matches!(&error, crate::Error::Limit(_)) && error.to_string().contains("Posts"), "{error}");
        }
    }
}
