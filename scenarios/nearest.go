package scenarios

import (
	"slices"
	"strings"

	"github.com/holdfast-go/holdfast/internal/english"
)

// Nearest returns the words of from that a misspelled word probably means: at most
// three, the likeliest first. It returns none if no word is close.
func Nearest(word string, from []string) []string {
	type candidate struct {
		word string
		cost int
	}
	lower := strings.ToLower(word)
	var found []candidate
	for _, w := range from {
		l := strings.ToLower(w)
		cost := distance(lower, l)
		// A word that was cut short, or written with more than its name, is as
		// good as one with two slips. Else a third of a word may be wrong.
		if len(lower) >= 3 && l != "" && (strings.Contains(l, lower) || strings.Contains(lower, l)) {
			cost = min(cost, 2)
		} else if cost > max(1, len([]rune(w))/3) {
			continue
		}
		found = append(found, candidate{w, cost})
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return a.cost - b.cost })
	var words []string
	for _, c := range found[:min(3, len(found))] {
		if c.cost <= found[0].cost+1 { // what is clearly farther off only distracts
			words = append(words, c.word)
		}
	}
	return words
}

// distance counts the inserted, deleted, replaced or swapped letters between a and b.
func distance(a, b string) int {
	s, t := []rune(a), []rune(b)
	before, last, row := make([]int, len(t)+1), make([]int, len(t)+1), make([]int, len(t)+1)
	for j := range row {
		row[j] = j
	}
	for i := range s {
		before, last, row = last, row, before
		row[0] = i + 1
		for j := range t {
			replace := last[j]
			if s[i] != t[j] {
				replace++
			}
			row[j+1] = min(replace, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && s[i] == t[j-1] && s[i-1] == t[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(t)]
}

// didYouMean is the hint for an unknown word: the nearest allowed ones, or all of
// them if none is near.
func didYouMean(word string, allowed []string) string {
	if near := Nearest(word, allowed); len(near) > 0 {
		return "did you mean " + english.Or(near) + "?"
	}
	return "allowed: " + strings.Join(allowed, ", ")
}
