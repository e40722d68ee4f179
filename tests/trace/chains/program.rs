// The same in Rust: generic functions, closures, methods.
use std::time::Duration;

trait Shape {
    fn area(&self, n: u64) -> u64;
}

struct Square<T>(T);

impl<T: Copy + Into<u64>> Shape for Square<T> {
    #[inline(never)]
    fn area(&self, n: u64) -> u64 {
        std::thread::sleep(Duration::from_millis(2));
        self.0.into() * n
    }
}

#[inline(never)]
fn twice<F: Fn(u64) -> u64>(f: F, n: u64) -> u64 {
    f(n) + f(n + 1)
}

fn main() {
    let shape: Box<dyn Shape> = Box::new(Square(3u32));
    let sum = twice(|k| shape.area(k) + 1, 2);
    std::process::exit((sum == 12345) as i32);
}
