package story

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/english"
)

// shorten cuts a story down to [maxSentences]. It drops unimportant lines of
// servers and merges equal ones. Then it merges stretches of ordinary sentences.
// At last it omits the least important sentences that are farthest from the
// violation.
func shorten(in []Sentence) []Sentence {
	if len(in) <= maxSentences/2 {
		return in
	}
	in = slices.DeleteFunc(in, func(s Sentence) bool { return s.weight == smallTalk })
	out := collapse(inChorus(in))
	if len(out) <= maxSentences {
		return out
	}
	return cut(out)
}

// collapse merges every stretch of four or more ordinary sentences. It keeps the
// ordinary sentence right before and after an important one, because it often
// explains that.
func collapse(in []Sentence) []Sentence {
	var out []Sentence
	for i := 0; i < len(in); {
		j := i
		for j < len(in) && in[j].weight == ordinary {
			j++
		}
		if j == i {
			out = append(out, in[i])
			i++
			continue
		}
		from, to := i, j
		if from > 0 {
			from++
		}
		if to < len(in) {
			to--
		}
		if to-from < 4 {
			out = append(out, in[i:j]...)
		} else {
			out = append(out, in[i:from]...)
			out = append(out, sum(in[from:to]))
			out = append(out, in[to:j]...)
		}
		i = j
	}
	return out
}

// sum is one sentence for many ordinary ones.
func sum(in []Sentence) Sentence {
	var actors []string
	grants := 0
	for _, s := range in {
		if !slices.Contains(actors, s.actor) {
			actors = append(actors, s.actor)
		}
		if s.grant {
			grants++
		}
	}
	slices.SortFunc(actors, Natural)
	if len(actors) > 5 {
		actors = append(actors[:4:4], fmt.Sprintf("%d others", len(actors)-4))
	}
	who, text := english.And(actors), ""
	switch {
	case grants == 0:
		text = fmt.Sprintf("%s go on in the same way (%d steps)", who, len(in))
	case grants == 1:
		text = fmt.Sprintf("%s: one grant, and nothing unusual", who)
	case len(actors) == 1:
		text = fmt.Sprintf("%s gets the lock %d times, and nothing unusual happens", who, grants)
	default:
		text = fmt.Sprintf("%s get the lock in turn, %d times in all, and nothing unusual happens", who, grants)
	}
	return Sentence{
		At: in[0].At, weight: ordinary, actor: who,
		Text: fmt.Sprintf("%s until %s.", text, history.At(in[len(in)-1].At)),
	}
}

// cut omits sentences until the story fits: ordinary ones first, and of the same
// weight those farthest from the first violation. A note replaces them.
func cut(in []Sentence) []Sentence {
	center := slices.IndexFunc(in, func(s Sentence) bool { return s.Bad })
	if center < 0 {
		center = slices.IndexFunc(in, func(s Sentence) bool { return s.Fault })
	}
	center = max(center, 0)
	order := make([]int, len(in))
	for i := range order {
		order[i] = i
	}
	// Sentences near the violation count for more than their weight.
	far := func(i int) int {
		if i >= center-4 && i <= center+8 {
			return 0
		}
		return 1
	}
	distance := func(i int) int {
		if i < center {
			return 2 * (center - i)
		}
		return i - center
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(far(a)-far(b), int(in[b].weight-in[a].weight), distance(a)-distance(b))
	})
	keep := order[:maxSentences]
	slices.Sort(keep)
	var out []Sentence
	next := 0
	for _, i := range append(keep, len(in)) {
		if n := i - next; n > 0 {
			out = append(out, Sentence{At: in[next].At, Gap: true, Text: fmt.Sprintf("(%s left out)", english.Count(n, "sentence"))})
		}
		if i < len(in) {
			out = append(out, in[i])
		}
		next = i + 1
	}
	return out
}

// gist keeps the most important sentences: the one at the center, the fault and the
// grant before it, and important ones nearby. No note replaces the others.
func gist(in []Sentence, center, most int) []Sentence {
	fault, grant := -1, -1
	for i := range in {
		if center >= 0 && i >= center {
			break
		}
		if in[i].Fault {
			fault = i
		}
		if in[i].grant {
			grant = i
		}
	}
	if center < 0 {
		center = max(fault, 0)
	}
	far := func(i int) int {
		if i == center || i == fault || i == grant {
			return math.MinInt
		}
		return max(i-center, center-i) - 3*int(in[i].weight)
	}
	order := make([]int, len(in))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(far(a), far(b)) })
	order = order[:min(most, len(order))]
	slices.Sort(order)
	out := make([]Sentence, len(order))
	for i, j := range order {
		out[i] = in[j]
	}
	return out
}
