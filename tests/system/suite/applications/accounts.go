// Transfers between accounts by pgx: prepared statements, four sessions at REPEATABLE READ that try again.
package main

import (
	"context"
	"fmt"
	"os"
	"sync"

	"github.com/jackc/pgx/v4"
)

func transfer(connection *pgx.Conn, from, to int) error {
	ctx := context.Background()
	tx, err := connection.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	if err != nil {
		return err
	}
	defer tx.Rollback(ctx)
	var has, gets int
	if err := tx.QueryRow(ctx, "SELECT balance FROM account WHERE id = $1", from).Scan(&has); err != nil {
		return err
	}
	if err := tx.QueryRow(ctx, "SELECT balance FROM account WHERE id = $1", to).Scan(&gets); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, "UPDATE account SET balance = $1 WHERE id = $2", has-1, from); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, "UPDATE account SET balance = $1 WHERE id = $2", gets+1, to); err != nil {
		return err
	}
	return tx.Commit(ctx)
}

func main() {
	ctx := context.Background()
	var all sync.WaitGroup
	for session := 0; session < 4; session++ {
		connection, err := pgx.Connect(ctx, os.Getenv("DATABASE_URL"))
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		all.Add(1)
		go func(session int) {
			defer all.Done()
			defer connection.Close(ctx)
			for i := 0; i < 25; {
				if transfer(connection, 1+(session+i)%10, 1+(session*3+i*7+1)%10) == nil {
					i++
				}
				if (1+(session+i)%10) == (1 + (session*3+i*7+1)%10) {
					i++
				}
			}
		}(session)
	}
	all.Wait()
	connection, _ := pgx.Connect(ctx, os.Getenv("DATABASE_URL"))
	defer connection.Close(ctx)
	var sum int
	connection.QueryRow(ctx, "SELECT sum(balance) FROM account").Scan(&sum)
	fmt.Println("sum", sum)
}
