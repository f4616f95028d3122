// An engine in Rust with a known truth, for more.sh with SOURCE=tokens: it finds the driver
// by itself, as crates do that do not link to it. Each program is faulty, or with --healthy
// its twin.
//
//   tokens NAME [--healthy] [--seconds N]
//   tokens --list      name, verdict, sites of the fault, of which one is to be named
use std::{
    cell::RefCell,
    collections::VecDeque,
    env,
    ffi::{c_char, c_int, c_void, CStr},
    mem::transmute,
    process::exit,
    rc::{Rc, Weak},
    sync::{mpsc, OnceLock},
    thread,
    time::{Duration, Instant},
};

const MIB: usize = 1 << 20;

extern "C" {
    fn dlopen(name: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
}

struct Driver {
    alloc: extern "C" fn(*mut u64, usize) -> c_int,
    free: extern "C" fn(u64) -> c_int,
    fill: extern "C" fn(u64, u8, usize) -> c_int,
    read: extern "C" fn(*mut c_void, u64, usize) -> c_int,
    set_current: extern "C" fn(u64) -> c_int,
    context: u64,
}

fn check(code: c_int, what: &str) {
    if code != 0 {
        eprintln!("{what}: error {code}");
        exit(1);
    }
}

unsafe fn find(library: *mut c_void, name: &CStr) -> *mut c_void {
    let f = dlsym(library, name.as_ptr());
    check(f.is_null() as c_int, name.to_str().unwrap());
    f
}

fn driver() -> &'static Driver {
    static DRIVER: OnceLock<Driver> = OnceLock::new();
    DRIVER.get_or_init(|| unsafe {
        let library = dlopen(c"libcuda.so.1".as_ptr(), 2);
        check(library.is_null() as c_int, "libcuda.so.1");
        let init: extern "C" fn(u32) -> c_int = transmute(find(library, c"cuInit"));
        let retain: extern "C" fn(*mut u64, c_int) -> c_int =
            transmute(find(library, c"cuDevicePrimaryCtxRetain"));
        let mut context = 0;
        check(init(0), "cuInit");
        check(retain(&mut context, 0), "cuDevicePrimaryCtxRetain");
        Driver {
            alloc: transmute(find(library, c"cuMemAlloc_v2")),
            free: transmute(find(library, c"cuMemFree_v2")),
            fill: transmute(find(library, c"cuMemsetD8_v2")),
            read: transmute(find(library, c"cuMemcpyDtoH_v2")),
            set_current: transmute(find(library, c"cuCtxSetCurrent")),
            context,
        }
    })
}

fn use_device() {
    check((driver().set_current)(driver().context), "cuCtxSetCurrent");
}

/// Memory of the device, freed when it is dropped.
struct Block {
    at: u64,
    size: usize,
}

impl Block {
    #[inline(never)]
    fn new(size: usize) -> Block {
        let mut at = 0;
        check((driver().alloc)(&mut at, size), "cuMemAlloc");
        check((driver().fill)(at, 1, size), "cuMemsetD8");
        Block { at, size }
    }
    fn read(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.size];
        let to = bytes.as_mut_ptr() as *mut c_void;
        check((driver().read)(to, self.at, self.size), "cuMemcpyDtoH");
        bytes
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        check((driver().free)(self.at), "cuMemFree");
    }
}

struct Run {
    healthy: bool,
    end: Instant,
}

impl Run {
    fn turn(&self, ms: u64) -> bool {
        thread::sleep(Duration::from_millis(ms));
        Instant::now() < self.end
    }
}

/// A request goes through a queue in C as a pointer, which becomes a box again where it is
/// answered. One that was cancelled meanwhile is not answered.
fn cancel_requests(run: &Run) {
    let mut queue: VecDeque<*mut Block> = VecDeque::new();
    let mut number = 0;
    while run.turn(50) {
        queue.push_back(Box::into_raw(Box::new(Block::new((1 + number % 5) * MIB))));
        number += 1;
        if queue.len() < 8 {
            continue;
        }
        let request = queue.pop_front().unwrap();
        let cancelled = number % 9 == 0;
        if !cancelled || run.healthy {
            drop(unsafe { Box::from_raw(request) });
        }
    }
    for request in queue {
        drop(unsafe { Box::from_raw(request) });
    }
}

enum Parent {
    Strong(#[allow(dead_code)] Rc<Prefix>),
    Weak(#[allow(dead_code)] Weak<Prefix>),
    None,
}

/// The keys and values of a prompt's part. It knows what goes on from it, and what it goes
/// on from: faulty, both hold each other.
struct Prefix {
    _block: Block,
    _parent: Parent,
    next: RefCell<Vec<Rc<Prefix>>>,
}

fn add_prefix(run: &Run, parent: Option<&Rc<Prefix>>) -> Rc<Prefix> {
    let prefix = Rc::new(Prefix {
        _block: Block::new(MIB),
        _parent: match parent {
            Some(p) if run.healthy => Parent::Weak(Rc::downgrade(p)),
            Some(p) => Parent::Strong(p.clone()),
            None => Parent::None,
        },
        next: RefCell::new(Vec::new()),
    });
    if let Some(p) = parent {
        p.next.borrow_mut().push(prefix.clone());
    }
    prefix
}

/// Fifteen prompts are cached, each in up to six parts.
fn cache_prefixes(run: &Run) {
    let mut prompts: VecDeque<Rc<Prefix>> = VecDeque::new();
    let mut turns = 0;
    while run.turn(400) {
        turns += 1;
        let root = add_prefix(run, None);
        let mut last = root.clone();
        for _ in 0..turns * 7 % 6 {
            last = add_prefix(run, Some(&last));
        }
        prompts.push_back(root);
        if prompts.len() > 15 {
            prompts.pop_front();
        }
    }
}

trait Results: Send + 'static {
    fn put(&self, bytes: Vec<u8>);
}
impl Results for mpsc::Sender<Vec<u8>> {
    fn put(&self, bytes: Vec<u8>) {
        let _ = self.send(bytes);
    }
}
impl Results for mpsc::SyncSender<Vec<u8>> {
    fn put(&self, bytes: Vec<u8>) {
        let _ = self.send(bytes);
    }
}

fn compute(results: impl Results, end: Instant) -> thread::JoinHandle<()> {
    thread::spawn(move || {
        use_device();
        let logits = Block::new(256 << 10);
        while Instant::now() < end {
            results.put(logits.read());
            thread::sleep(Duration::from_millis(30));
        }
    })
}

/// Logits are computed faster than they are written out, and wait in a channel without a
/// bound. Healthy: it has one.
fn queue_results(run: &Run) {
    let (worker, results) = if run.healthy {
        let (sender, results) = mpsc::sync_channel(16);
        (compute(sender, run.end), results)
    } else {
        let (sender, results) = mpsc::channel();
        (compute(sender, run.end), results)
    };
    while run.turn(45) {
        if let Ok(bytes) = results.recv() {
            std::hint::black_box(bytes.iter().map(|&b| b as u64).sum::<u64>());
        }
    }
    drop(results);
    worker.join().unwrap();
}

type Program = (&'static str, &'static str, &'static str, fn(&Run));

const PROGRAMS: [Program; 3] = [
    (
        "cancelled",
        "app-leak",
        "Block::new|cancel_requests",
        cancel_requests,
    ),
    (
        "prefixes",
        "app-leak",
        "Block::new|add_prefix",
        cache_prefixes,
    ),
    ("channel", "host-growth", "-", queue_results),
];

fn main() {
    let args: Vec<String> = env::args().collect();
    let name = args.get(1).map_or("", |s| s.as_str());
    if name == "--list" {
        for (name, verdict, site, _) in PROGRAMS {
            println!("{name} {verdict} {site}");
        }
        return;
    }
    let at = args.iter().position(|a| a == "--seconds");
    let seconds = at
        .and_then(|i| args.get(i + 1)?.parse().ok())
        .unwrap_or(20.);
    let Some((.., work)) = PROGRAMS.iter().find(|p| p.0 == name) else {
        exit(2)
    };
    use_device();
    let _weights = Block::new(200 * MIB);
    let end = Instant::now() + Duration::from_secs_f64(seconds);
    work(&Run {
        healthy: args.iter().any(|a| a == "--healthy"),
        end,
    });
}
