// Package ashlar is the map of the house; the work is done in the packages below it.
package ashlar
