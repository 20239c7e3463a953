// Command client makes calls to an inventory and a book catalog with generated packages.
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"

	"example.com/client/books"
	"example.com/client/inventory"
)

func main() {
	err := manage(context.Background(), os.Getenv("INVENTORY_URL"), os.Getenv("INVENTORY_PASSWORD"))
	if err == nil {
		err = read(context.Background(), os.Getenv("BOOKS_URL"))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// read adds a book and lists books.
func read(ctx context.Context, url string) error {
	client, err := books.NewClientWithResponses(url)
	if err != nil {
		return err
	}
	added, err := client.CreateBookWithResponse(ctx, books.BookDraft{Title: "Emma", Author: &books.Author{Lastname: "Austen"}})
	if err != nil {
		return err
	}
	if added.JSON201 == nil {
		return fmt.Errorf("add: %s %s", added.Status(), added.Body)
	}
	author := "austen"
	list, err := client.ListBooksWithResponse(ctx, &books.ListBooksParams{Author: &author, Sortby: &[]books.ListBooksParamsSortby{"title:asc"}})
	if err != nil {
		return err
	}
	if list.JSON200 == nil {
		return fmt.Errorf("list: %s %s", list.Status(), list.Body)
	}
	for _, b := range *list.JSON200 {
		fmt.Println("book:", b.Title, *b.Version)
	}
	return nil
}

// manage logs in, creates a location and a device, lists devices and changes one.
func manage(ctx context.Context, url, password string) error {
	token := ""
	client, err := inventory.NewClientWithResponses(url, inventory.WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		return nil
	}))
	if err != nil {
		return err
	}
	session, err := client.LoginWithResponse(ctx, inventory.Credentials{Username: "admin", Password: password})
	if err != nil {
		return err
	}
	if session.JSON200 == nil {
		return fmt.Errorf("login: %s %s", session.Status(), session.Body)
	}
	token = session.JSON200.Token
	fmt.Println("login:", session.JSON200.Username, session.JSON200.Role)

	location, err := createLocation(ctx, client)
	if err != nil {
		return err
	}
	fmt.Println("location:", location.Name)

	device, err := createDevice(ctx, client, location)
	if err != nil {
		return err
	}
	fmt.Println("device:", device.Hostname, device.Status, device.Version)

	start, none := "sw", false
	list, err := client.ListDevicesWithResponse(ctx, &inventory.ListDevicesParams{
		Sortby: &inventory.DevicesSortby{"hostname:asc"},
		Filter: &inventory.DeviceFilter{Status: new(inventory.DeviceFilterStatusActive), HostnameStartswith: &start, LocationIdIsnull: &none},
	})
	if err != nil {
		return err
	}
	if list.JSON200 == nil {
		return fmt.Errorf("list: %s %s", list.Status(), list.Body)
	}
	for _, d := range list.JSON200.Data {
		fmt.Println("listed:", d.Hostname, d.Version, "of", *list.JSON200.Meta.TotalCount)
	}
	return change(ctx, client, device)
}

func createLocation(ctx context.Context, client *inventory.ClientWithResponses) (*inventory.Location, error) {
	var body inventory.LocationInput
	if err := body.FromLocationDraft(inventory.LocationDraft{Name: "Site"}); err != nil {
		return nil, err
	}
	r, err := client.CreateLocationWithResponse(ctx, nil, body)
	if err != nil {
		return nil, err
	}
	if r.JSON201 == nil {
		return nil, fmt.Errorf("create a location: %s %s", r.Status(), r.Body)
	}
	location, err := r.JSON201.AsLocation()
	return &location, err
}

func createDevice(ctx context.Context, client *inventory.ClientWithResponses, at *inventory.Location) (*inventory.Device, error) {
	var body inventory.DeviceInput
	if err := body.FromDeviceDraft(inventory.DeviceDraft{
		Hostname: "sw1", Status: new(inventory.DeviceStatusActive), LocationId: new(at.Id.String()),
	}); err != nil {
		return nil, err
	}
	r, err := client.CreateDeviceWithResponse(ctx, nil, body)
	if err != nil {
		return nil, err
	}
	if r.JSON201 == nil {
		return nil, fmt.Errorf("create a device: %s %s", r.Status(), r.Body)
	}
	device, err := r.JSON201.AsDevice()
	return &device, err
}

// change changes the device, and again with the entity tag of the old version.
func change(ctx context.Context, client *inventory.ClientWithResponses, device *inventory.Device) error {
	read, err := client.GetDeviceWithResponse(ctx, device.Id, nil)
	if err != nil {
		return err
	}
	if read.JSON200 == nil {
		return fmt.Errorf("get: %s %s", read.Status(), read.Body)
	}
	tag, offline := read.HTTPResponse.Header.Get("ETag"), inventory.DeviceStatusOffline
	for range 2 {
		r, err := client.ChangeDeviceWithResponse(ctx, device.Id, &inventory.ChangeDeviceParams{IfMatch: &tag}, inventory.DeviceChange{Status: &offline})
		switch {
		case err != nil:
			return err
		case r.JSON200 != nil:
			fmt.Println("changed:", r.JSON200.Status, r.JSON200.Version)
		case r.JSONDefault != nil:
			fmt.Println("refused:", r.JSONDefault.Status)
		default:
			return fmt.Errorf("change: %s %s", r.Status(), r.Body)
		}
	}
	return nil
}
