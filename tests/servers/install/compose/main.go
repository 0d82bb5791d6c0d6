// Prints the project that Compose's own library makes of the compose file and the .env in this folder, as JSON; profiles are
// those of COMPOSE_PROFILES.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
)

func load() (*types.Project, error) {
	options, err := cli.NewProjectOptions(nil,
		cli.WithOsEnv, cli.WithEnvFiles(), cli.WithDotEnv, cli.WithDefaultConfigPath, cli.WithDefaultProfiles(),
	)
	if err != nil {
		return nil, err
	}
	return options.LoadProject(context.Background())
}

func main() {
	project, err := load()
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(project)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
