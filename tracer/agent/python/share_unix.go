//go:build unix

package python

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// ours reports an error unless nobody but this user and root can put other files
// into a folder, or another folder in its place. dir has no symbolic links.
func ours(dir string) error {
	root, err := os.Stat("/")
	if err != nil {
		return err
	}
	for at := dir; ; at = filepath.Dir(at) {
		info, err := os.Lstat(at)
		if err != nil {
			return err
		}
		owner, user := ownerOf(info), os.Geteuid()
		// In a user namespace root may have another number.
		isTrusted := owner == user || at != dir && owner == ownerOf(root)
		isOpen := info.Mode().Perm()&0o022 != 0 && (at == dir || info.Mode()&os.ModeSticky == 0)
		if !info.IsDir() || !isTrusted || isOpen {
			return fmt.Errorf("%s: other users could change what lies there", at)
		}
		if at == filepath.Dir(at) {
			return nil
		}
	}
}

func ownerOf(info os.FileInfo) int {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(stat.Uid)
	}
	return -1
}
