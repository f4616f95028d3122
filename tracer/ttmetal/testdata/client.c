/* A client of the allocation server with the struct of protocol v1: allocates,
 * asks, frees one of two, asks again, and prints the answers. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

struct __attribute__((packed)) message {
	uint8_t type, pad1[3];
	int32_t device_id;
	uint64_t size;
	uint8_t buffer_type, pad2[3];
	int32_t process_id;
	uint64_t buffer_id, timestamp;
	uint64_t dram, l1, l1_small, trace;
};

_Static_assert(sizeof(struct message) == 72, "protocol v1 has 72 bytes");

static int fd;

static int say(uint8_t type, uint64_t id, uint64_t size, uint8_t memory) {
	struct message m;
	memset(&m, 0, sizeof m);
	m.type = type;
	m.device_id = 3;
	m.size = size;
	m.buffer_type = memory;
	m.process_id = getpid();
	m.buffer_id = id;
	if (type == 1) m.timestamp = 1700000000000000000ULL;
	return send(fd, &m, sizeof m, 0) == (ssize_t)sizeof m ? 0 : -1;
}

static int ask(void) {
	struct message m;
	if (say(3, 0, 0, 0) || recv(fd, &m, sizeof m, MSG_WAITALL) != (ssize_t)sizeof m) return -1;
	return printf("%d %d %llu %llu\n", m.type, m.device_id, (unsigned long long)m.dram, (unsigned long long)m.l1) < 0;
}

int main(int argc, char **argv) {
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	if (argc != 2) return 2;
	strncpy(at.sun_path, argv[1], sizeof at.sun_path - 1);
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&at, sizeof at)) return 1;
	if (ask() || say(1, 0x1000, 4096, 0) || say(1, 0x2000, 512, 1) || ask()) return 1;
	return say(2, 0x1000, 0, 0) || ask();
}
