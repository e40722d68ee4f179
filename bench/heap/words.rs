// Vectors, strings and a map of the standard library of Rust.
use std::collections::HashMap;

fn count_words(words: usize) -> usize {
    let mut places: HashMap<String, Vec<u32>> = HashMap::new();
    for i in 0..words {
        let name = format!("{}{}", "x".repeat(i % 97), i % (words / 4));
        places.entry(name).or_default().push(i as u32);
    }
    places.values().map(Vec::len).sum()
}

fn main() {
    let rounds = std::env::args().nth(1).map_or(1, |text| text.parse().unwrap());
    for _ in 0..rounds {
        assert_eq!(count_words(40_000), 40_000);
    }
}
