// Answers by request, in a map. Faulty: without a bound. Healthy: from 400 on the oldest goes.
use std::{collections::HashMap, env, thread::sleep, time::{Duration, Instant}};

#[inline(never)]
fn answer(i: u64) -> String {
    format!("{:>1$}", i, 6000 + (i % 7 * 900) as usize)
}

fn main() {
    let args: Vec<String> = env::args().collect();
    let end = Instant::now() + Duration::from_secs(args[1].parse().unwrap());
    let mut cache: HashMap<u64, String> = HashMap::new();
    let mut i = 0;
    while Instant::now() < end {
        cache.entry(i).or_insert_with(|| answer(i));
        if args.len() > 2 && i >= 400 {
            cache.remove(&(i - 400));
        }
        i += 1;
        sleep(Duration::from_millis(8));
    }
    println!("{}", cache.len());
}
