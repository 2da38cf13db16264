package main

import "github.com/holdfast-go/holdfast/suite"

// parseShard reads the value of --shard.
func parseShard(text string) (suite.Shard, error) {
	s, err := suite.ParseShard(text)
	if err != nil {
		return s, usage("--" + err.Error())
	}
	return s, nil
}
