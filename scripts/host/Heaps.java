import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.Executors;
import java.util.function.Consumer;

/** Programs whose heap is kept, or not: Heaps PROGRAM SECONDS. */
public class Heaps {
	static long end;
	static final Random random = new Random(7);
	static final List<Object> kept = new ArrayList<>();
	static final Map<String, byte[]> cached = new HashMap<>();
	static final List<Consumer<Integer>> listeners = new ArrayList<>();

	static boolean goesOn(int milliseconds) throws Exception {
		Thread.sleep(milliseconds);
		return System.currentTimeMillis() < end;
	}

	static void garbage(int blocks) {
		for (int i = 0; i < blocks; i++) cached.put("last", new byte[16384]);
	}

	static ByteBuffer touched(int bytes) {
		ByteBuffer b = ByteBuffer.allocateDirect(bytes);
		for (int i = 0; i < bytes; i += 4096) b.put(i, (byte) 1);
		return b;
	}

	// What is kept for good.

	static void list() throws Exception {
		for (; goesOn(20); garbage(20)) kept.add(new byte[100_000]);
	}

	static void cache() throws Exception {
		for (int i = 0; goesOn(20); garbage(40)) cached.put("key" + i++, new byte[60_000]);
	}

	static void listeners() throws Exception {
		for (; goesOn(20); garbage(10)) {
			byte[] state = new byte[80_000];
			listeners.add(x -> state[0] = x.byteValue());
		}
	}

	static void threadlocal() throws Exception {
		ThreadLocal<List<byte[]>> mine = ThreadLocal.withInitial(ArrayList::new);
		var threads = Executors.newFixedThreadPool(4);
		while (goesOn(20)) threads.submit(() -> mine.get().add(new byte[70_000]));
		threads.shutdown();
	}

	static void direct() throws Exception {
		for (; goesOn(20); garbage(20)) kept.add(touched(100_000));
	}

	public static class Loaded {
		public String text = "a constant";
	}

	static void metaspace() throws Exception {
		byte[] code;
		try (var in = Heaps.class.getResourceAsStream("Heaps$Loaded.class")) {
			code = in.readAllBytes();
		}
		for (int i = 0; goesOn(3); i++) {
			ClassLoader loader = new ClassLoader(null) {
				protected Class<?> findClass(String name) {
					return defineClass(name, code, 0, code.length);
				}
			};
			kept.add(Class.forName("Heaps$Loaded", true, loader));
		}
	}

	static void sessions() throws Exception { // one in five never ends
		ArrayDeque<byte[]> open = new ArrayDeque<>();
		for (int i = 0; goesOn(10); i++, garbage(10)) {
			if (i % 5 == 0) kept.add(new byte[120_000]);
			else open.add(new byte[120_000]);
			if (open.size() > 200) open.poll();
		}
	}

	static void slow() throws Exception {
		for (; goesOn(20); garbage(100)) kept.add(new byte[15_000]);
	}

	// What is not.

	static void churn() throws Exception {
		byte[][] ring = new byte[64][];
		for (int i = 0; goesOn(5); )
			for (int k = 0; k < 20; k++) ring[i++ & 63] = new byte[40_000];
	}

	static void lru() throws Exception {
		Map<Integer, byte[]> recent = new LinkedHashMap<>(16, .75f, true) {
			protected boolean removeEldestEntry(Map.Entry<Integer, byte[]> e) {
				return size() > 1500;
			}
		};
		for (int i = 0; goesOn(8); garbage(10))
			for (int k = 0; k < 2; k++) recent.put(i++, new byte[100_000]);
	}

	static void bursts() throws Exception {
		for (int i = 0; goesOn(10); i++, garbage(30)) {
			if (i % 250 == 0) build(800, 5);
		}
	}

	static List<byte[]> build(int blocks, int milliseconds) throws Exception {
		List<byte[]> built = new ArrayList<>();
		for (int k = 0; k < blocks; k++) {
			built.add(new byte[100_000]);
			if (k % 20 == 0) Thread.sleep(milliseconds);
		}
		return built;
	}

	static void fills() throws Exception {
		while (goesOn(20)) garbage(20);
	}

	static void window() throws Exception {
		ArrayDeque<byte[]> window = new ArrayDeque<>();
		for (; goesOn(10); garbage(20)) {
			window.add(new byte[30_000]);
			if (window.size() > 500) window.poll();
		}
	}

	static void batch() throws Exception {
		while (goesOn(50)) build(1500, 25);
	}

	static void strings() throws Exception {
		Map<Integer, String> values = new HashMap<>();
		while (goesOn(5))
			for (int k = 0; k < 300; k++) values.put(random.nextInt(200_000), "value " + random.nextLong());
	}

	static void soft() throws Exception {
		Map<Integer, java.lang.ref.SoftReference<byte[]>> soft = new HashMap<>();
		for (int i = 0; goesOn(10); i++, garbage(5))
			soft.put(i % 20_000, new java.lang.ref.SoftReference<>(new byte[100_000]));
	}

	static void directchurn() throws Exception {
		ByteBuffer[] ring = new ByteBuffer[50];
		for (int i = 0; goesOn(10); garbage(10)) ring[i++ % 50] = touched(200_000);
	}

	public static void main(String[] arguments) throws Exception {
		end = System.currentTimeMillis() + 1000L * Integer.parseInt(arguments[1]);
		Heaps.class.getDeclaredMethod(arguments[0]).invoke(null);
	}
}
