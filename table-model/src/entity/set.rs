//! Sets of entity types: the entities of a program under one name.

use super::TableEntity;

/// Entity types: one, or a tuple of sets. A program names its entities once, `type Shop = (Customer, Order, Line)`, for
/// `create_all`, `verify_all`, `repair_all`, `sweep_all` and `assert_layouts!`. A tuple has up to 16 parts, which may be tuples
/// themselves.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no set of entities",
    note = "a set is an entity or a tuple of entities: `type Shop = (Customer, Order, Line)`; a longer one has tuples in it"
)]
pub trait EntitySet {
    #[doc(hidden)]
    fn visit(visitor: &mut impl VisitEntities);
}

/// Receiver of the types in an [`EntitySet`], in their order.
pub trait VisitEntities {
    /// Takes the next type.
    fn entity<E: TableEntity>(&mut self);
}

#[diagnostic::do_not_recommend]
impl<E: TableEntity> EntitySet for E {
    fn visit(visitor: &mut impl VisitEntities) {
        visitor.entity::<E>();
    }
}

macro_rules! tuples {
    ($first:ident $($next:ident)*) => {
        #[diagnostic::do_not_recommend]
        impl<$first: EntitySet, $($next: EntitySet),*> EntitySet for ($first, $($next,)*) {
            fn visit(visitor: &mut impl VisitEntities) {
                $first::visit(visitor);
                $($next::visit(visitor);)*
            }
        }

        tuples! { $($next)* }
    };
    () => {};
}

tuples! { A B C D E F G H I J K L M N O P }
