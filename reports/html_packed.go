package reports

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
)

// endOfPart ends a packed part of a page. Neither templates nor drawings write it.
const endOfPart = "\x00"

// writeRun writes a run. A large page packs the runs that it folds, and leaves their
// verdicts. A run that leads keeps its picture. The script of the page puts the parts, in
// their order, in place of what is left.
func (p *pager) writeRun(v runView) error {
	switch {
	case len(p.d.Results.Runs) < drawAllBelow || v.Unexpected:
		return p.part("run", v)
	case v.Leads:
		v.Packed = true
		return errors.Join(p.pack("rest", v), p.part("run", v))
	}
	return errors.Join(p.pack("run", v), p.part("packed", v))
}

func (p *pager) pack(part string, v runView) error {
	defer p.packed.WriteString(endOfPart)
	return pages.ExecuteTemplate(&p.packed, part, v)
}

// packedScript declares the packed parts, as gzip in base64. Equal parts give equal bytes,
// because the stream has neither a name nor a time.
func packedScript(parts []byte) (string, error) {
	if len(parts) == 0 {
		return "", nil
	}
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err == nil {
		_, err = z.Write(parts)
	}
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		return "", fmt.Errorf("pack: %w", err)
	}
	return `const packed = "` + base64.StdEncoding.EncodeToString(b.Bytes()) + "\";\n", nil
}
