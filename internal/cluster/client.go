package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// ErrHungUp says that a node was asked, and has ended before it answered.
var ErrHungUp = errors.New("it has hung up without an answer")

// Client asks the nodes of a cluster from outside, at the lobby of one of them.
type Client struct {
	addr  string
	certs *certs
}

// Dial prepares a client for the node at addr, with a certificate that the
// cluster's authority made for anyone (see Issue).
func Dial(addr, certs string) (*Client, error) {
	if _, err := split(addr); err != nil {
		return nil, err
	}
	c, err := loadCerts(certs, "", time.Now)
	if err != nil {
		return nil, err
	}
	return &Client{addr, c}, nil
}

// At prepares a client for another node of the cluster.
func (c *Client) At(addr string) *Client { return &Client{addr, c.certs} }

// Ask asks a node, through the one that was dialled; "" is that one.
func (c *Client) Ask(ctx context.Context, node, topic string, data []byte) ([]byte, error) {
	if len(data) > maxAsk {
		return nil, fmt.Errorf("ask the node %s (%s): %d bytes are too many, %d are not", node, topic, len(data), maxAsk)
	}
	a, err := call(ctx, c.addr, c.certs, maxFrame, &request{Ask: &question{Node: node, Topic: topic, Data: data}})
	if err != nil {
		return nil, err
	}
	if a.Error != "" {
		return nil, errors.New(a.Error)
	}
	return a.Data, nil
}
