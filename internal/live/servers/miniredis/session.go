package miniredis

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	redis "github.com/alicebob/miniredis/v2/server"

	"github.com/holdfast-go/holdfast/internal/redis/resp"
)

type session struct {
	server *server
	conn   net.Conn
	in     *bufio.Reader
	peer   *redis.Peer
	from   string

	multi   bool            // it is within a transaction
	blocked *blocked        // the request that has begun to wait
	watched <-chan struct{} // closed when no client reads from in any more; nil if none did
}

func newSession(s *server, c net.Conn) *session {
	return &session{server: s, conn: c, in: bufio.NewReader(c), peer: redis.NewPeer(bufio.NewWriter(c)), from: c.RemoteAddr().String()}
}

func (s *session) serve() {
	for {
		if s.watched != nil {
			<-s.watched
			s.watched = nil
		}
		args, err := resp.ReadRequest(s.in)
		if err != nil || !s.execute(args) || s.blocked != nil && !s.wait() {
			break
		}
		s.peer.Flush()
		if s.peer.Closed() { // by QUIT
			break
		}
	}
	s.conn.Close() // so that nothing waits for it to take a message
	s.server.exec.Lock()
	defer s.server.exec.Unlock()
	for _, command := range []string{"UNSUBSCRIBE", "PUNSUBSCRIBE"} { // as a disconnect does
		s.server.mr.Server().Dispatch(s.peer, []string{command})
	}
}

// execute executes one request; false ends the connection. It reports the changes of the
// request before it sends the reply.
func (s *session) execute(args []string) bool {
	srv, command := s.server, strings.ToUpper(args[0])
	srv.exec.Lock()
	defer srv.exec.Unlock()
	if srv.closed {
		return false
	}
	now := time.Now()
	srv.mr.SetTime(now)
	srv.expire(now)
	switch {
	case command == TellCommand:
		srv.begin(s.conn, now)
		return true
	case command == MarkCommand && len(args) == 2:
		srv.tell(Report{At: now, Mark: args[1]})
		return true
	case srv.told[s.conn] != nil: // replies would come between the reports
		return false
	case command == "INFO" && len(args) == 2 && strings.EqualFold(args[1], "server"):
		s.peer.WriteBulk(fmt.Sprintf("# Server\r\nserver_name:miniredis\r\nredis_mode:standalone\r\nprocess_id:%d\r\n", os.Getpid()))
		return true
	}
	s.dispatch(command, args)
	srv.observe(now, s.from, command)
	return true
}
