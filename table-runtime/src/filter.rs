//! Conditions on properties: what a backend tests, and their OData text.

use std::{cmp::Ordering, fmt};

use crate::{PropertiesRef, Value, ValueRef, key::order};

/// A condition on a row's properties, untyped; [`Filter`](crate::Filter) is the one that a user writes.
#[derive(Clone, Debug, PartialEq)]
pub enum Condition {
    /// A property compared with a value of its type. False where the property is missing or of another type.
    Compare {
        /// The property's name.
        property: &'static str,
        /// The comparison.
        operator: Operator,
        /// The value.
        value: Value,
    },
    /// Both hold.
    And(Box<Condition>, Box<Condition>),
    /// One holds, or both.
    Or(Box<Condition>, Box<Condition>),
    /// It does not hold.
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
    /// Whether the condition holds for a row with these properties.
    pub fn holds(&self, properties: PropertiesRef<'_>) -> bool {
        match self {
            Self::Compare { property, operator, value } => properties.get(property).is_some_and(|found| {
                let same_type = found.edm_type() == value.as_ref().edm_type();
                same_type && operator.holds(compare(found, value.as_ref()))
            }),
            Self::And(left, right) => left.holds(properties) && right.holds(properties),
            Self::Or(left, right) => left.holds(properties) || right.holds(properties),
            Self::Not(condition) => !condition.holds(properties),
        }
    }

    /// Whether all properties that it compares are such.
    pub(crate) fn compares_only(&self, is_such: &impl Fn(&str) -> bool) -> bool {
        match self {
            Self::Compare { property, .. } => is_such(property),
            Self::And(left, right) | Self::Or(left, right) => {
                left.compares_only(is_such) && right.compares_only(is_such)
            }
            Self::Not(condition) => condition.compares_only(is_such),
        }
    }

    /// How many comparisons it has; the service takes 15 in a query, those of the keys included.
    pub fn comparisons(&self) -> usize {
        match self {
            Self::Compare { .. } => 1,
            Self::And(left, right) | Self::Or(left, right) => left.comparisons() + right.comparisons(),
            Self::Not(condition) => condition.comparisons(),
        }
    }
}

/// The order of two values of one type; texts by UTF-16 unit, as the service compares them.
fn compare(left: ValueRef<'_>, right: ValueRef<'_>) -> Option<Ordering> {
    match (left, right) {
        (ValueRef::String(left), ValueRef::String(right)) => Some(order::compare(left, right)),
        (ValueRef::Binary(left), ValueRef::Binary(right)) => Some(left.cmp(right)),
        (ValueRef::Boolean(left), ValueRef::Boolean(right)) => Some(left.cmp(&right)),
        (ValueRef::Int32(left), ValueRef::Int32(right)) => Some(left.cmp(&right)),
        (ValueRef::Int64(left), ValueRef::Int64(right)) => Some(left.cmp(&right)),
        (ValueRef::Double(left), ValueRef::Double(right)) => left.partial_cmp(&right),
        (ValueRef::Guid(left), ValueRef::Guid(right)) => Some(left.cmp(&right)),
        (ValueRef::DateTime(left), ValueRef::DateTime(right)) => Some(left.cmp(&right)),
        _ => None,
    }
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
