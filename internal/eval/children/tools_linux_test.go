package children

// tools are interpreters and tools of developers beside Python and the shell.
func tools() []kind {
	gitEnv := []string{"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_AUTHOR_DATE=2026-01-01T00:00:00Z",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b", "GIT_COMMITTER_DATE=2026-01-01T00:00:00Z",
		"GIT_CONFIG_NOSYSTEM=1"}
	return []kind{
		{
			name: "node",
			argv: []string{
				"node", "-e",
				`console.log(process.argv.length, process.exitCode);
process.on("exit", c => console.log("exit", c));
setTimeout(() => process.exit(3), 10)`,
			},
			needs: []string{"node"},
		},
		{
			name: "node that throws", argv: []string{"node", "-e", `throw new Error("wrong")`},
			needs: []string{"node"},
		},
		{
			name: "node with children",
			argv: []string{
				"node", "-e",
				`const c = require("child_process");
console.log(c.spawnSync("sh", ["-c", "echo out; exit 4"]));
c.exec("look fds", (e, o) => console.log(o));
const {Worker} = require("worker_threads");
new Worker("console.log('worker')", {eval: true})`,
			},
			needs: []string{"node"}, rules: []rule{pids, anyOrder},
		},
		{
			name: "node that handles signals",
			argv: []string{
				"node", "-e",
				`process.on("SIGTERM", () => { console.log("term"); process.exit(5) });
setTimeout(() => {}, 9000);
process.kill(process.pid, "SIGTERM")`,
			},
			needs: []string{"node"},
		},
		{name: "java", argv: []string{"java", "-version"}, maybe: []string{"java"}},
		{
			name: "git",
			sh: `git init -q . && echo x >f && git add f && git commit -qm first && git log --format='%H %s' &&
git gc -q && git status --short; git rev-parse no-such; echo $?; rm -rf .git f`,
			env: gitEnv,
		},
		{
			name: "git with hooks and a pager",
			sh: `git init -q . && printf '#!/bin/sh\necho hook\n' >.git/hooks/pre-commit &&
chmod +x .git/hooks/pre-commit && git commit -q --allow-empty -m x
git -c core.pager=cat -c color.ui=always log --format=%s; rm -rf .git`,
			env: gitEnv,
		},
		{
			name: "go version", sh: `go version`, needs: []string{"go"},
			rules: []rule{without("what go notes of its use", `home/.config`)},
		},
	}
}
