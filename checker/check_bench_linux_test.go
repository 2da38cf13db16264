package checker

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"
)

// BenchmarkCheck runs the command on right histories with server log and
// resource, on one core: it reads them, and judges every property. Of several
// rounds the time is the median, the memory the most.
func BenchmarkCheck(b *testing.B) {
	dir := b.TempDir()
	holdfast := filepath.Join(dir, "holdfast")
	if out, err := exec.Command("go", "build", "-o", holdfast, "../cmd/holdfast").CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	for _, n := range []int{100_000, 300_000, 1_000_000} {
		for _, suffix := range []string{"jsonl", "jsonl.gz"} {
			b.Run(fmt.Sprintf("%s/%d", suffix, n), func(b *testing.B) {
				path := filepath.Join(dir, fmt.Sprintf("%d.%s", n, suffix))
				// Another process writes the history: what this one takes would count as the command's.
				write := exec.Command(os.Args[0], "-test.run", "^TestLongHistoryOnDisk$", "-ops", fmt.Sprint(n), "-history", path)
				if out, err := write.CombinedOutput(); err != nil {
					b.Fatalf("%v\n%s", err, out)
				}
				defer os.Remove(path)
				var times []time.Duration
				var most int64
				for b.Loop() {
					check := exec.Command(holdfast, "check", path)
					check.Env = append(os.Environ(), "GOMAXPROCS=1")
					out, err := check.CombinedOutput()
					if err != nil { // something is not ok
						b.Fatalf("%v\n%s", err, out)
					}
					times = append(times, check.ProcessState.UserTime()+check.ProcessState.SystemTime())
					most = max(most, check.ProcessState.SysUsage().(*syscall.Rusage).Maxrss<<10)
				}
				slices.Sort(times)
				median := times[len(times)/2]
				b.ReportMetric(median.Seconds(), "cpu-s")
				b.ReportMetric(float64(median.Microseconds())/float64(n), "us/lock-op")
				b.ReportMetric(float64(most)/1e6, "MB")
				b.ReportMetric(float64(most)/float64(n)/1e3, "KB/lock-op")
			})
		}
	}
}
