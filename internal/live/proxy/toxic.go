package proxy

import (
	"encoding/json"
	"fmt"
	"sync"

	"github.com/Shopify/toxiproxy/v2/stream"
	"github.com/Shopify/toxiproxy/v2/toxics"
)

// carrier is our only toxic in toxiproxy's registry: it delegates to the toxic
// that it carries. toxiproxy makes toxics from JSON, by the name of their type,
// while a toxic of package faults is a value with a state.
// It implements [toxics.Toxic], [toxics.CleanupToxic] and [toxics.StatefulToxic].
type carrier struct{ toxic toxics.Toxic }

const carrierType = "holdfast"

var register = sync.OnceFunc(func() { toxics.Register(carrierType, new(carrier)) })

// carried are the attached toxics, by the number in their JSON.
var carried = struct {
	sync.Mutex
	last   int
	toxics map[int]toxics.Toxic
}{toxics: map[int]toxics.Toxic{}}

// carry makes the request that attaches t, and the name of the result.
func carry(dir stream.Direction, t toxics.Toxic) (name, request string, forget func()) {
	register()
	carried.Lock()
	defer carried.Unlock()
	carried.last++
	id := carried.last
	carried.toxics[id] = t
	name = fmt.Sprint("toxic-", id)
	request = fmt.Sprintf(`{"name":%q,"type":%q,"stream":%q,"attributes":{"id":%d}}`, name, carrierType, dir.String(), id)
	return name, request, func() {
		carried.Lock()
		defer carried.Unlock()
		delete(carried.toxics, id)
	}
}

// UnmarshalJSON finds the toxic to carry.
func (c *carrier) UnmarshalJSON(b []byte) error {
	var attributes struct {
		ID int `json:"id"`
	}
	if err := json.Unmarshal(b, &attributes); err != nil {
		return err
	}
	carried.Lock()
	defer carried.Unlock()
	c.toxic = carried.toxics[attributes.ID]
	if c.toxic == nil {
		return fmt.Errorf("no toxic %d to carry", attributes.ID)
	}
	return nil
}

func (c *carrier) Pipe(stub *toxics.ToxicStub) { c.toxic.Pipe(stub) }

func (c *carrier) Cleanup(stub *toxics.ToxicStub) {
	if t, ok := c.toxic.(toxics.CleanupToxic); ok {
		t.Cleanup(stub)
	}
	if stub.Closed() {
		// toxiproxy leaves the chain before it as it is, and what still comes
		// along it would wait for ever.
		go func() {
			for range stub.Input { // ends with the connection
			}
		}()
	}
}

func (c *carrier) NewState() any {
	if t, ok := c.toxic.(toxics.StatefulToxic); ok {
		return t.NewState()
	}
	return nil
}
