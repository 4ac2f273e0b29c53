-- Returns the epoch and the last offset.
return {log_end()}
