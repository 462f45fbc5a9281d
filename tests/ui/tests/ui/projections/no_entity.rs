use table_runtime::{Projection, TableEntity};

#[derive(TableEntity)]
struct Post {
    #[partition_key]
    author: String,
    #[row_key]
    id: u32,
    title: String,
    likes: u32,
    #[property(skip)]
    cached: bool,
}

// If a trait has more than nine implementations, the compiler lists the first eight by name: always these.
macro_rules! entities {
    ($($name:ident)*) => {
        $(
            #[derive(TableEntity)]
            #[table(partition = "all")]
            struct $name {
                #[row_key]
                id: u32,
            }
        )*
    };
}

entities!(Ant Bat Cat Dog Elk Fox Gnu Hen Ibis);

#[derive(Projection)]
#[projection(of = Posts)]
struct Unknown {
    title: String,
}

struct Plain {
    title: String,
}

#[derive(Projection)]
#[projection(of = Plain)]
struct OfPlain {
    title: String,
}

fn main() {}
