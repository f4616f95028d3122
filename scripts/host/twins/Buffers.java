// Direct buffers for requests. Faulty: all are held. Healthy: a ring of 50, and those that
// left it wait for a collection, of which a program with so few objects has none in a minute.
import java.nio.ByteBuffer;
import java.util.ArrayDeque;

public class Buffers {
	static final ArrayDeque<ByteBuffer> held = new ArrayDeque<>();

	static void request() {
		ByteBuffer b = ByteBuffer.allocateDirect(60_000);
		while (b.hasRemaining())
			b.put((byte) 1);
		held.add(b);
	}

	public static void main(String[] args) throws Exception {
		long end = System.currentTimeMillis() + 1000 * Long.parseLong(args[0]);
		for (; System.currentTimeMillis() < end; Thread.sleep(20)) {
			request();
			if (args.length > 1 && held.size() > 50)
				held.poll();
		}
	}
}
