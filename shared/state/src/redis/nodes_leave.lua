-- Takes a node out.
drop(NODE)
sweep()
return outcome()
