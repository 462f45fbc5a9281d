//! Transactions of two items with rows of their own in other partitions.

use super::*;

/// Transactions of two items with claims of their own, each with the contents of the store before it.
const CLAIMING: [(Start, Act); 7] = [
    (NONE, Both(Write::Insert(ONE_ITEM), Write::Insert(OTHER_ITEM))),
    (ONE, Both(Write::Insert(OTHER_ITEM), Write::Update(1, 3, 3))),
    (TWO, Both(Write::Update(1, 3, 3), Write::Delete(2))),
    // The value that the second item wants may be left with the first one, which does not have it any more.
    (ONE, Both(Write::Note(1, 7), Write::Insert(TWIN))),
    (TWO, Both(Write::Delete(2), Write::Update(1, 2, 2))),
    (ONE, Both(Write::Delete(1), Write::Insert(Fields::new(1, 2, 2)))),
    (ONE, Both(Write::Insert(OTHER_ITEM), Write::Patch(1))),
];

/// Transactions beside a backfill.
const BESIDE_A_BACKFILL: Sets = &[
    (OLD_ONE, &[Fill, Both(Write::Insert(OTHER_ITEM), Write::Update(1, 3, 3))]),
    (OLD_TWINS, &[Fill, Both(Write::Update(1, 2, 2), Write::Delete(2))]),
];

/// Two transactions of the same items, in opposite order.
const OPPOSITE: Sets = &[
    (
        NONE,
        &[
            Both(Write::Insert(ONE_ITEM), Write::Insert(OTHER_ITEM)),
            Both(Write::Insert(Fields::new(2, 1, 1)), Write::Insert(Fields::new(1, 2, 2))),
        ],
    ),
    (
        ONE,
        &[
            Both(Write::Insert(OTHER_ITEM), Write::Update(1, 3, 3)),
            Both(Write::Update(1, 2, 2), Write::Insert(Fields::new(2, 3, 3))),
        ],
    ),
    (TWO, &[Both(Write::Update(1, 3, 3), Write::Delete(2)), Both(Write::Update(2, 4, 4), Write::Delete(1))]),
];

/// Transactions of which one request is not answered.
const UNANSWERED: Sets = &[
    (NONE, &[Both(Write::Insert(ONE_ITEM), Write::Insert(OTHER_ITEM))]),
    (ONE, &[Both(Write::Insert(OTHER_ITEM), Write::Update(1, 3, 3)), Note(1, 7)]),
    (TWO, &[Both(Write::Update(1, 3, 3), Write::Delete(2)), Insert(2, 1, 1)]),
    (ONE, &[Both(Write::Delete(1), Write::Insert(Fields::new(1, 2, 2))), Insert(2, 1, 1)]),
    // The patched item has no version: its row can be deleted, and come back.
    (ONE, &[Both(Write::Insert(OTHER_ITEM), Write::Patch(1)), Both(Write::Delete(1), Write::Insert(ONE_ITEM))]),
    (ONE, &[Both(Write::Insert(OTHER_ITEM), Write::Patch(1)), Delete(1), Insert(1, 3, 3)]),
];

/// Further transactions, which take long.
const LONG_UNANSWERED: Sets = &[
    (NONE, &[Both(Write::Insert(ONE_ITEM), Write::Insert(OTHER_ITEM)), Insert(3, 2, 2)]),
    (NONE, &[Both(Write::Insert(ONE_ITEM), Write::Insert(OTHER_ITEM)), Insert(2, 1, 1)]),
    (ONE, &[Both(Write::Insert(OTHER_ITEM), Write::Update(1, 3, 3)), Insert(3, 1, 1)]),
];

/// Explores each transaction beside each operation on one item, and beside a backfill.
fn explore(kind: &'static dyn ItemKind, reach: Reach) -> Result<()> {
    // A repair fixes the rows of both items one after the other, in the order in which it finds them. Properties are
    // propagated to rows of both items side by side.
    let holds_more = |layout: &LayoutInfo| layout.index.as_ref().is_some_and(|index| index.holds != Holds::Pointer);
    let has_many = kind.layouts().len() > 2 || kind.layouts().iter().any(holds_more);
    let is_long = reach == Reach::Partition && has_many && !Depth::Deep.is_reached();
    let mut beside: Vec<_> = single_acts(kind).iter().chain(&MODIFY).copied().collect();
    beside.retain(|act| !is_long || [Insert(2, 1, 1), Update(1, 2, 2), Delete(1), Note(1, 7)].contains(act));
    beside.retain(|act| *act != Repair || Depth::Deep.is_reached() && !has_many || Depth::Full.is_reached());
    let all = CLAIMING.iter().flat_map(|(start, both)| beside.iter().map(|act| (*start, [*both, *act])));
    let all: Vec<_> = all.collect();
    explore_sets(kind, reach, all.iter().map(|(start, set)| (*start, &set[..])))?;
    if !is_long {
        explore_lists(kind, reach, &[BESIDE_A_BACKFILL])?;
    }
    explore_sets_with(losing(1), kind, reach, UNANSWERED.iter().copied())?;
    if Depth::Deep.is_reached() {
        explore_lists(kind, reach, &[OPPOSITE])?;
        let crashing = Explorer { crashes: Crashes::Any, ..Explorer::default() };
        let sets = all.iter().filter(|(_, [_, act])| [Insert(2, 1, 1), Update(1, 2, 2), Delete(1)].contains(act));
        explore_sets_with(crashing, kind, reach, sets.map(|(start, set)| (*start, &set[..])))?;
    }
    if Depth::Full.is_reached() {
        explore_sets_with(losing(1), kind, reach, LONG_UNANSWERED.iter().copied())?;
    }
    Ok(())
}

mod in_steps {
    use super::*;

    fn explore(kind: &'static dyn ItemKind) -> Result<()> {
        super::explore(kind, Reach::Partition)
    }

    each_kind! { pointer_elsewhere unique_elsewhere unique_include_elsewhere copy_elsewhere mixed_three }
}

mod at_once {
    use super::*;

    fn explore(kind: &'static dyn ItemKind) -> Result<()> {
        super::explore(kind, Reach::Store)
    }

    each_kind! { unique_elsewhere unique_include_elsewhere }
}
