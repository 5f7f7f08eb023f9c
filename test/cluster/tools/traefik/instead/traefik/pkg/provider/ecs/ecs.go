// Package ecs takes the place of Traefik's provider for Amazon ECS, whose libraries are a quarter of what is compiled.
package ecs

import (
	"errors"

	"github.com/traefik/traefik/v3/pkg/config/dynamic"
	"github.com/traefik/traefik/v3/pkg/safe"
)

// ProviderName is its name in settings.
const ProviderName = "ecs"

// Provider has no settings.
type Provider struct{}

// Init refuses to be used.
func (*Provider) Init() error {
	return errors.New("built without the provider for Amazon ECS")
}

// Provide gives nothing.
func (*Provider) Provide(chan<- dynamic.Message, *safe.Pool) error {
	return nil
}
