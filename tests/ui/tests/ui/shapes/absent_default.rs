use table_runtime::Property;

#[derive(Property, Clone)]
struct Prefs {
    theme: Option<String>,
    size: Option<u32>,
}

impl Default for Prefs {
    fn default() -> Self {
        Self { theme: Some("dark".into()), size: None }
    }
}

#[derive(Property)]
struct Inside {
    name: String,
    #[property(default)]
    prefs: Prefs,
}

fn main() {}
