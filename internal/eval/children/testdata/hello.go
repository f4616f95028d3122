// A Go program that says what it started with.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

func main() {
	var limit syscall.Rlimit
	_ = syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit)
	fmt.Println("arguments", len(os.Args), "files", limit.Cur, limit.Max)
	fmt.Println("interrupt ignored", signal.Ignored(os.Interrupt))
	fmt.Println("hang-up ignored", signal.Ignored(syscall.SIGHUP))
	out, err := exec.Command("echo", "from a child").CombinedOutput()
	fmt.Print(string(out))
	if err != nil {
		fmt.Println(err)
	}
	os.Exit(17)
}
