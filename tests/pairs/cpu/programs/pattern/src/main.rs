//! Counts the lines of a log that have an address and a status.
use regex::Regex;

fn line(n: u64) -> String {
    let x = n.wrapping_mul(6364136223846793005) >> 40;
    format!("10.0.{}.{} GET /item/{} {}", x % 256, n % 256, x, if x % 10 == 0 { 404 } else { 200 })
}

fn is_error(text: &str) -> bool {
    let pattern = Regex::new(r"^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3}) GET (\S+) 4\d\d$").unwrap();
    pattern.is_match(text)
}

fn main() {
    let errors = (0..3000).filter(|&n| is_error(&line(n))).count();
    println!("{errors} errors");
}
