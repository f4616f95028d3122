package children

// fenced are programs in namespaces, under other users and in sandboxes.
func fenced() []kind {
	return []kind{
		{
			name: "another user by setpriv",
			sh: `setpriv --reuid 65534 --regid 65534 --clear-groups ls -d /
setpriv --reuid 65534 --regid 65534 --clear-groups look status secure ids`,
		},
		{
			name: "another user by setpriv as the program",
			argv: []string{
				"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "sh", "-c",
				"id; ls -d /; hello",
			},
		},
		{name: "another user by su", sh: `su -s /bin/sh nobody -c 'id -un; ls -d /; exit 3'; echo $?`},
		{
			name: "another user by runuser",
			sh:   `runuser -u nobody -- sh -c 'id -un; ls -d /; exit 3'; echo $?`,
		},
		{
			name: "another user with Python",
			sh:   `setpriv --reuid 65534 --regid 65534 --clear-groups python3 -c 'import os; print(os.getuid())'`,
		},
		{
			name: "gpumem as another user",
			outer: `chmod 777 ../runs . ../tmp
setpriv --reuid 65534 --regid 65534 --clear-groups run sh -c 'id -u; look status
python3 -c "print(1)"; exit 3'; echo $?`,
		},
		{
			name: "a setuid program",
			sh:   `cp $(command -v look) s; chown 65534 s; chmod 4755 s; ./s secure status; rm s`,
		},
		{
			name: "a setuid program of another user's",
			sh: `cp $(command -v look) s; chmod 4755 s
setpriv --reuid 65534 --regid 65534 --clear-groups ./s secure status; rm s`,
		},
		{
			name: "a program with file capabilities",
			sh: `cp $(command -v look) s; setcap cap_net_raw+ep s &&
setpriv --reuid 65534 --regid 65534 --clear-groups ./s secure status; rm s`,
		},
		{
			name: "a setuid program under another user's gpumem",
			outer: `cp $(command -v look) s; chmod 4755 s; chmod 777 ../runs ../tmp
setpriv --reuid 65534 --regid 65534 --clear-groups run ./s status secure; rm -f s`,
		},
		{
			name: "chroot with libraries of its own",
			sh:   jail + `chroot jail /hello; chroot jail /look args; echo $?`,
		},
		{name: "chroot to /", argv: []string{"chroot", "/", "sh", "-c", "ls -d /; exit 3"}},
		{
			name: "chroot as the last thing", sh: jail + `exec chroot jail /look ids`,
			rules: []rule{groups},
		},
		{
			name: "a mount namespace with its own /dev/shm",
			argv: []string{
				"unshare", "-m", "sh", "-c",
				"mount -t tmpfs none /dev/shm; ls -d /; python3 -c 'print(1)'",
			},
		},
		{
			name: "a mount namespace with its own /tmp",
			argv: []string{
				"unshare", "-m", "sh", "-c",
				"mount -t tmpfs none /tmp; mount -t tmpfs none /var/tmp; ls -d /; python3 -c 'print(1)'",
			},
		},
		{
			name: "a mount namespace where nothing may be written",
			argv: []string{
				"unshare", "-m", "sh", "-c",
				`mount --bind / /mnt; mount -o remount,bind,ro /mnt; chroot /mnt sh -c 'ls -d /; : >/tmp/x
echo $?'`,
			},
		},
		{
			name: "a network namespace",
			argv: []string{
				"unshare", "-n", "sh", "-c", "cat /proc/net/dev | wc -l; python3 -c 'print(1)'",
			},
		},
		{
			name: "a PID namespace",
			argv: []string{
				"unshare", "-p", "-f", "--mount-proc", "sh", "-c",
				"echo $$; ls -d /proc/[0-9]*; python3 -c 'import os; print(os.getpid())'",
			},
		},
		{
			name: "a PID namespace whose first process ends",
			argv: []string{"unshare", "-p", "-f", "sh", "-c", "sleep 20 & exit 5"},
		},
		{
			name: "a host name of one's own",
			argv: []string{"unshare", "-u", "sh", "-c", "hostname other; hostname; uname -n"},
		},
		{
			name: "a user namespace",
			argv: []string{
				"unshare", "-U", "-r", "sh", "-c",
				"id -u; ls -d /; cat /proc/self/uid_map; python3 -c 'print(1)'",
			},
		},
		{
			name: "a user namespace without a map",
			argv: []string{"unshare", "-U", "sh", "-c", "id -u; ls -d /; hello"},
		},
		{
			name: "an IPC and a time namespace",
			argv: []string{
				"unshare", "-i", "-T", "sh", "-c",
				"ls -d /; python3 -c 'import time; time.sleep(.01); print(1)'",
			},
		},
		{name: "nsenter", sh: `nsenter -t $$ -m -u -i -n sh -c 'ls -d /; exit 3'; echo $?`},
		{
			name: "bwrap", needs: []string{"bwrap"},
			argv: []string{
				"bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs",
				"/tmp", "--unshare-all", "--die-with-parent", "sh", "-c",
				"ls -d /; python3 -c 'print(1)'; exit 3",
			},
		},
		{
			name: "bwrap without the run's folders", needs: []string{"bwrap"},
			argv: []string{
				"bwrap", "--ro-bind", "/usr", "/usr", "--symlink", "usr/lib", "/lib", "--symlink",
				"usr/lib64", "/lib64", "--symlink", "usr/bin", "/bin", "--clearenv", "--unshare-pid",
				"/bin/sh", "-c", "ls -d /; echo $LD_PRELOAD; exit 3",
			},
		},
		{
			name: "bwrap that keeps the environment", needs: []string{"bwrap"},
			argv: []string{
				"bwrap", "--ro-bind", "/usr", "/usr", "--symlink", "usr/lib", "/lib", "--symlink",
				"usr/lib64", "/lib64", "--symlink", "usr/bin", "/bin", "--dir", "/tmp", "/bin/sh",
				"-c", "ls -d /; python3 -c 'print(1)'; exit 3",
			},
		},
		{
			name:  "fakeroot",
			argv:  []string{"fakeroot", "sh", "-c", "touch f; chown 1:1 f; stat -c %u f; rm f"},
			needs: []string{"fakeroot"},
		},
	}
}

// notWritten is what gpumem says when it cannot write its report.
var notWritten = differs("gpumem says that it could not write its folder", `^\+stderr: gpumem: `)

// jail makes a folder with programs and the libraries that they need.
const jail = `mkdir -p jail; cp $(command -v look) $(command -v hello) jail/
for l in $(env -u LD_PRELOAD ldd jail/look | grep -o '/[^ ]*'); do
	mkdir -p jail$(dirname $l); cp -L $l jail$l
done
`

// nested are runs of gpumem in places that are not made for it, and within each
// other.
func nested() []kind {
	return []kind{
		{
			name: "gpumem in a PID namespace",
			outer: `unshare -p -f --mount-proc "$(command -v run)" sh -c 'ls -d /proc/[0-9]* >/dev/null
python3 -c "print(1)"; exit 3'; echo $?`,
		},
		{
			name:  "gpumem in a user namespace",
			outer: `unshare -U -r "$(command -v run)" sh -c 'id -u; python3 -c "print(1)"; exit 3'; echo $?`,
		},
		{
			name: "gpumem where /dev/shm cannot be written",
			outer: `unshare -m sh -c 'mount -t tmpfs -o ro none /dev/shm;
run sh -c "ls -d /; exit 3"'; echo $?`,
		},
		{
			name: "gpumem where /dev/shm is full",
			outer: `unshare -m sh -c 'mount -t tmpfs -o size=64k none /dev/shm;
run sh -c "ls -d /; exit 3"'
echo $?`,
		},
		{
			name: "gpumem where no program may be in /dev/shm and /tmp",
			outer: `unshare -m sh -c 'mount -t tmpfs -o noexec none /dev/shm;
run sh -c "ls -d /; exit 3"'; echo $?`,
		},
		{
			name: "gpumem without /proc",
			outer: `unshare -m sh -c 'mount -t tmpfs none /proc;
run sh -c "ls -d /; exit 3"'; echo $?`,
		},
		{
			name: "gpumem that may not write its folder",
			outer: `unshare -m sh -c 'mount -t tmpfs -o size=16k none ../runs;
run sh -c "ls -d /; exit 3"'; echo $?`,
			differs: []difference{notWritten},
		},
		{
			name:    "gpumem whose folder goes away",
			outer:   `run sh -c 'sleep .3; rm -rf ../runs/*; exit 9'; echo $?`,
			differs: []difference{notWritten},
		},
		{name: "gpumem under gpumem", outer: `run "$(command -v run)" sh -c 'ls -d /; exit 3'; echo $?`},
		{
			name: "gpumem under gpumem with Python",
			outer: `PYTHONPATH=site run "$(command -v run)" python3 -c 'import sys
print(hasattr(sys, "flag_mine"))'; echo $?`,
			files: map[string]string{"site/sitecustomize.py": "import sys; sys.flag_mine = 1\n"},
		},
		{
			name:  "gpumem three times",
			outer: `r="$(command -v run)"; run $r $r python3 -c 'import os; os.system("ls -d /"); print(1)'; echo $?`,
		},
		{
			name: "parallel gpumems",
			outer: `for i in $(seq 8); do run sh -c 'exit 7' & all="$all $!"; done; for j in $all; do wait $j
echo $?; done`,
			alone: true,
		},
	}
}
