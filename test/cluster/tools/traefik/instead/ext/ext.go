// Package ext is empty in Traefik, too: a place for additions of Traefik Hub. Its folder is a module of its own, which is not published.
package ext

// HTTP is part of Traefik's HTTP configuration.
type HTTP struct{}

// Router is part of the configuration of a router.
type Router struct{}
