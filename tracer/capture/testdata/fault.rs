// A planted fault in Rust, and its healthy twin: fault kept [healthy]
use std::{env, ptr, thread, time::Duration};

extern "C" {
    fn cuInit(flags: u32) -> i32;
    fn cuDevicePrimaryCtxRetain(ctx: *mut u64, device: i32) -> i32;
    fn cuCtxSetCurrent(ctx: u64) -> i32;
    fn cuMemAlloc_v2(p: *mut u64, size: usize) -> i32;
    fn cuMemFree_v2(p: u64) -> i32;
}

mod cache {
    pub struct Cache(pub Vec<u64>);
    impl Cache {
        #[inline(never)]
        pub fn remember(&mut self, size: usize, healthy: bool) {
            let mut p = 0;
            assert_eq!(0, unsafe { super::cuMemAlloc_v2(ptr(&mut p), size) });
            if healthy {
                assert_eq!(0, unsafe { super::cuMemFree_v2(p) });
            } else {
                self.0.push(p);
            }
        }
    }
    fn ptr(p: &mut u64) -> *mut u64 {
        super::ptr::addr_of_mut!(*p)
    }
}

fn main() {
    let healthy = env::args().len() > 2;
    let mut ctx = 0;
    let mut cache = cache::Cache(Vec::new());
    assert_eq!(0, unsafe { cuInit(0) });
    assert_eq!(0, unsafe { cuDevicePrimaryCtxRetain(&mut ctx, 0) });
    assert_eq!(0, unsafe { cuCtxSetCurrent(ctx) });
    let steps = env::var("FAULT_STEPS").ok().and_then(|n| n.parse().ok()).unwrap_or(1600);
    for step in 0..steps {
        if step % 5 == 0 {
            cache.remember(1 << 20, healthy);
        }
        thread::sleep(Duration::from_millis(5));
    }
}
