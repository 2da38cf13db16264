package gallery

// retried are the mistakes about requests that arrive twice: an acquire that
// counts twice, and a release that is told off the second time.
func retried() []Mutant {
	return []Mutant{
		edited(Mutant{
			Name: "acquire-forgets-request", Of: "reentrant", Class: 1,
			Mistake: "An acquire does not look whether the server has seen it before, so a second sending counts a second hold.",
			Shipped: "Redisson 3.52 on replicated servers (#7367, #6025); every lock on go-redis that leaves its three retries on (go-redis #2985)",
		}, edit{acquireScript, "local latch = redis.call('get', KEYS[2])", "local latch = false"}),
	}
}
