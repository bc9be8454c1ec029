package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"weir/internal/cluster"
)

// nodeCmd is about one machine of several that are one crawler.
type nodeCmd struct {
	Run    nodeRunCmd    `cmd:"" default:"withargs" help:"Run a node: it finds the others, and waits for a crawl."`
	Init   nodeInitCmd   `cmd:"" help:"Make the authority of a new cluster, with which certificates are made."`
	Cert   nodeCertCmd   `cmd:"" help:"Make the certificate of a node, or of a person at a command line."`
	Remove nodeRemoveCmd `cmd:"" help:"Take a node that is gone for good out of the cluster, so that others hold its copies."`
}

// Help ends the help text of the command.
func (c *nodeCmd) Help() string {
	return `Examples:
  weir node init                                   an authority for the cluster, on your machine
  weir node cert a --hosts a.example.org           a certificate for each node
  weir node --name a --certs certs/a --listen a.example.org:7400 --join b.example.org:7400,c.example.org:7400
  weir node --dir weir-node                        one that was started before

weir node run --help tells more of that.`
}

// nodeInitCmd makes an authority.
type nodeInitCmd struct {
	Dir string `arg:"" optional:"" default:"weir-certs" placeholder:"DIR" help:"Folder to make. Default: weir-certs."`
}

// Help ends the help text of the command.
func (c *nodeInitCmd) Help() string {
	return `The folder stays with you: whoever has its ca.key can make nodes of your cluster. Nodes get what weir node cert makes.

Examples:
  weir node init
  weir node cert a --hosts a.example.org,192.0.2.7`
}

// Run implements the verb.
func (c *nodeInitCmd) Run(e *env) error {
	switch err := cluster.InitCA(c.Dir); {
	case errors.Is(err, fs.ErrExist):
		return usage("weir node cert NAME --ca "+c.Dir+" makes certificates with it; another cluster needs another folder", "%s holds an authority already", c.Dir)
	case err != nil:
		return failure(err, "weir must be able to write there: name another folder")
	}
	fmt.Fprintf(e.out, "made the authority of a new cluster in %s; ca.key stays on this machine\n", c.Dir)
	fmt.Fprintf(e.out, "next: weir node cert NAME%s --hosts HOST,... for every node\n", caFlag(c.Dir))
	return nil
}

// caFlag is what to add to a command for an authority.
func caFlag(dir string) string {
	if dir == "weir-certs" {
		return ""
	}
	return " --ca " + dir
}

// nodeCertCmd makes a certificate.
type nodeCertCmd struct {
	Name  string   `arg:"" help:"Name of the node, or of a person: letters, digits, - and _."`
	Hosts []string `placeholder:"HOST,..." help:"Names and addresses that the others reach the node at. A person's needs none."`
	CA    string   `name:"ca" placeholder:"DIR" default:"weir-certs" help:"Folder that weir node init has made. Default: weir-certs."`
}

// Help ends the help text of the command.
func (c *nodeCertCmd) Help() string {
	return `Examples:
  weir node cert a --hosts a.example.org,192.0.2.7     a node
  weir node cert me                                    for weir submit and weir status from elsewhere`
}

// Run implements the verb.
func (c *nodeCertCmd) Run(e *env) error {
	dir, err := cluster.Issue(c.CA, c.Name, c.Hosts)
	switch {
	case errors.Is(err, fs.ErrExist):
		return usage("use that one, move it away, or choose another name", "%s is there already", filepath.Join(c.CA, c.Name))
	case errors.Is(err, fs.ErrNotExist):
		return usage("weir node init "+c.CA+" makes one; or name its folder with --ca", "there is no authority in %s", c.CA)
	case errors.Is(err, cluster.ErrName):
		return clusterFault(err)
	case err != nil:
		return failure(err, "weir node cert --help shows examples")
	}
	fmt.Fprintf(e.out, "made %s: ca.pem, node.pem and node.key\n", dir)
	if len(c.Hosts) == 0 {
		fmt.Fprintf(e.out, "next: bring the folder to where you type commands, as in weir status --at HOST:PORT --certs %s\n", dir)
		return nil
	}
	fmt.Fprintf(e.out, "next: bring the folder to %s, and there: weir node --name %s --certs %s --listen %s:7400 --join HOST:PORT,...\n", c.Hosts[0], c.Name, dir, c.Hosts[0])
	return nil
}

// otherAuthority is what to do when that of a cluster has expired.
const otherAuthority = "weir node init DIR makes another one: give all nodes and people certificates made with it (weir node cert --ca DIR), and start all nodes again"

// clusterFault says what to do about an error of a node, or of a question to one.
func clusterFault(err error) error {
	if err == nil {
		return nil
	}
	hint := ""
	if errors.Is(err, cluster.ErrName) || strings.Contains(err.Error(), cluster.ErrName.Error()) {
		return usage("choose another one, that can be part of a file's name too", "%w", err)
	}
	if slices.ContainsFunc(misasked, func(text string) bool { return strings.Contains(err.Error(), text) }) {
		return usage("", "%w", err) // it says what to do
	}
	var (
		cert    *cluster.CertError
		refused *cluster.Refused
		storage *cluster.StorageError
		port    *cluster.PortError
		end     *cluster.EndError
		short   *cluster.ShortError
		removed *cluster.RemovedError
		late    *cluster.LateError
	)
	switch {
	case errors.As(err, &cert):
		switch cert.Fault {
		case cluster.CertUnreadable:
			hint = "name the folder that weir node cert has made with --certs"
		case cluster.CertExpired:
			hint = "weir node cert makes a new one, with the same ca.key"
		case cluster.CertEarly:
			hint = "set the clocks right; machines of a cluster should ask a time server"
		case cluster.CertForeign:
			hint = "both need certificates made with the same ca.key: see weir node cert"
		case cluster.CertName:
			hint = "give the name it was made for with --name, or another folder with --certs"
		case cluster.CertHost:
			hint = "weir node cert NAME --hosts makes one that names all hosts the node is reached at"
		case cluster.CertPerson:
			hint = "weir node cert NAME --hosts HOST,... makes one for a node"
		case cluster.CertOld:
			hint = otherAuthority
		}
	case errors.As(err, &refused):
		switch refused.Why {
		case cluster.OtherCluster:
			hint = "join the cluster it belongs to, or start it with a new, empty --dir"
		case cluster.OtherVersion:
			hint = "run the same version of weir on all nodes: weir version"
		case cluster.OtherExpect:
			hint = "start all nodes with the same --expect"
		case cluster.NameTaken:
			hint = "every node needs a name, a certificate and a folder of its own: weir node cert NAME"
		case cluster.NotItself:
			hint = "start it with the certificate that was made for its name"
		case cluster.Removed:
			hint = "start it with a new, empty --dir"
		case cluster.Returned:
			hint = "if its old folder is lost: weir node remove NAME, at another node; where fewer than three with storage would be left, start it under another name before that"
		}
	case errors.As(err, &end) && end.Node == "" && end.Left <= 0:
		hint = otherAuthority
	case errors.As(err, &end) && end.Node == "":
		hint = "weir node init DIR makes another one: add its ca.pem to the end of that of every node and person, and start the nodes again; then give each a certificate made with it (weir node cert --ca DIR), with both in its ca.pem, and start it again"
	case errors.As(err, &end):
		hint = "weir node cert makes a new one, with the same ca.key: put it in place of the old one, then stop the node and start it again"
	case errors.As(err, &short):
		hint = "weir node --dir starts it again, once its disk has room; if it is gone for good, weir node remove has another node keep the copies"
	case errors.As(err, &removed):
		hint = fmt.Sprintf("it joins again with a new, empty --dir; the pages it has fetched are in its old one only, which weir export --dir reads; if that is lost, weir node remove %s --refetch has them fetched again", removed.Node)
	case errors.As(err, &port):
		hint = "take the address that weir node --listen has there"
	case errors.As(err, &late) && late.Met:
		hint = "it may have much to do, or be cut off from the others: try again, or ask another node with --at; if something was to change, weir status shows whether it has"
	case errors.As(err, &late):
		hint = "take the address that weir node --listen has there, not the port after it, where the nodes' servers meet one another; if it is that, the node hangs or is out of reach: ask another one with --at"
	case errors.Is(err, cluster.ErrInUse):
		hint = "weir status --node tells how it is doing; another node needs a folder, a name and a certificate of its own"
	case errors.As(err, new(tls.RecordHeaderError)):
		hint = "what listens there is no node: take the address that weir node --listen has"
	case strings.Contains(err.Error(), "belongs to node"):
		hint = "start it by its name, or name another folder with --dir"
	case errors.Is(err, cluster.ErrTwo):
		hint = "a third node may be small: it can run beside another one, though not on the same disk"
	case errors.Is(err, syscall.ENOSPC):
		hint = "make room on the disk, then start the node again"
	case errors.As(err, &storage):
		hint = "make room on the disk, then start the node again"
	case errors.Is(err, cluster.ErrExists):
		hint = "weir status shows it; another crawl needs a cluster of its own"
	case strings.Contains(err.Error(), "address already in use"):
		hint = "another program listens there, perhaps this very node: choose another port with --listen"
	case strings.Contains(err.Error(), cluster.ErrFew.Error()):
		hint = "start another node with storage and --join, under another name; then remove this one"
	case strings.Contains(err.Error(), cluster.ErrEarly.Error()):
		hint = "if it has only just started, try again in a few seconds; else it has not found most nodes of its cluster yet, and says where it was started for whom it waits"
	case strings.Contains(err.Error(), "no node of that name was ever seen"):
		hint = "weir status lists the nodes there are"
	case strings.Contains(err.Error(), "drain and stop it first"):
		hint = "weir drain, or Ctrl-C at the node, has it hand over and end; one that is only away needs no removal"
	case strings.Contains(err.Error(), cluster.ErrHeadless.Error()):
		hint = "try again in a few seconds; if that does not help, weir status shows which nodes are missing, and weir node --dir starts them"
	case strings.Contains(err.Error(), "a port is a number"):
		hint = "write HOST:PORT, as in 192.0.2.7:7400"
	case errors.Is(err, cluster.ErrHungUp):
		hint = "it may have ended: ask another node with --at; if something was to change, weir status shows there whether it has"
	case strings.Contains(err.Error(), "connection refused"):
		hint = "is a node running there? weir node says at which address it listens"
	case errors.Is(err, cluster.ErrSilent), strings.Contains(err.Error(), cluster.ErrSilent.Error()):
		hint = "if the node has only just started, try again in a few seconds; weir status lists the nodes there are"
	}
	return failure(err, hint)
}
