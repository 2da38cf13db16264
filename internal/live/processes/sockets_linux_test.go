package processes

import (
	"net"
	"os"
	"os/exec"
	"testing"

	"github.com/holdfast-go/holdfast/internal/must"
)

// A connection must be taken for that of the process which has it, and of no
// other.
func TestWhoKnocks(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	must.Succeed(t, err)
	defer l.Close()
	c, err := net.Dial("tcp4", l.Addr().String())
	must.Succeed(t, err)
	defer c.Close()
	from, to := c.LocalAddr().(*net.TCPAddr), l.Addr().(*net.TCPAddr)
	inode := SocketInode(from, to)
	if inode == "" || !HasSocket(os.Getpid(), inode) {
		t.Errorf("the process is not found that has socket %q", inode)
	}
	if !HasSocket(os.Getppid(), inode) {
		t.Error("the process is not found that has started the one with the socket")
	}
	other := exec.Command("sleep", "60")
	must.Succeed(t, Spawn(other))
	if HasSocket(other.Process.Pid, inode) {
		t.Error("another process is found")
	}
	_ = other.Process.Kill() // it ends with this process anyway
	_ = other.Wait()
	c.Close()
	if HasSocket(os.Getpid(), inode) {
		t.Error("the process is found when it has let go")
	}
}
