begin_version
3
end_version
begin_metric
0
end_metric
2
begin_variable
var0
-1
2
Atom wet(fern)
NegatedAtom wet(fern)
end_variable
begin_variable
var1
-1
2
Atom lights-out()
NegatedAtom lights-out()
end_variable
0
begin_state
1
1
end_state
begin_goal
2
0 0
1 0
end_goal
1
begin_operator
leave
1
0 0
1
0 1 -1 0
1
end_operator
0
