begin_version
3
end_version
begin_metric
0
end_metric
6
begin_variable
var0
-1
2
Atom robot-in(hall)
Atom robot-in(yard)
end_variable
begin_variable
var1
-1
4
Atom free(left)
Atom holds(left, chest)
Atom holds(left, crate)
Atom holds(left, trunk)
end_variable
begin_variable
var2
-1
4
Atom free(right)
Atom holds(right, chest)
Atom holds(right, crate)
Atom holds(right, trunk)
end_variable
begin_variable
var3
-1
3
Atom box-in(chest, hall)
Atom box-in(chest, yard)
<none of those>
end_variable
begin_variable
var4
-1
3
Atom box-in(crate, hall)
Atom box-in(crate, yard)
<none of those>
end_variable
begin_variable
var5
-1
3
Atom box-in(trunk, hall)
Atom box-in(trunk, yard)
<none of those>
end_variable
3
begin_mutex_group
4
3 0
3 1
1 1
2 1
end_mutex_group
begin_mutex_group
4
4 0
4 1
1 2
2 2
end_mutex_group
begin_mutex_group
4
5 0
5 1
1 3
2 3
end_mutex_group
begin_state
0
0
0
0
0
0
end_state
begin_goal
3
3 1
4 1
5 1
end_goal
26
begin_operator
lift chest left hall
1
0 0
2
0 1 0 1
0 3 0 2
1
end_operator
begin_operator
lift chest left yard
1
0 1
2
0 1 0 1
0 3 1 2
1
end_operator
begin_operator
lift chest right hall
1
0 0
2
0 2 0 1
0 3 0 2
1
end_operator
begin_operator
lift chest right yard
1
0 1
2
0 2 0 1
0 3 1 2
1
end_operator
begin_operator
lift crate left hall
1
0 0
2
0 1 0 2
0 4 0 2
1
end_operator
begin_operator
lift crate left yard
1
0 1
2
0 1 0 2
0 4 1 2
1
end_operator
begin_operator
lift crate right hall
1
0 0
2
0 2 0 2
0 4 0 2
1
end_operator
begin_operator
lift crate right yard
1
0 1
2
0 2 0 2
0 4 1 2
1
end_operator
begin_operator
lift trunk left hall
1
0 0
2
0 1 0 3
0 5 0 2
1
end_operator
begin_operator
lift trunk left yard
1
0 1
2
0 1 0 3
0 5 1 2
1
end_operator
begin_operator
lift trunk right hall
1
0 0
2
0 2 0 3
0 5 0 2
1
end_operator
begin_operator
lift trunk right yard
1
0 1
2
0 2 0 3
0 5 1 2
1
end_operator
begin_operator
put chest left hall
1
0 0
2
0 1 1 0
0 3 -1 0
1
end_operator
begin_operator
put chest left yard
1
0 1
2
0 1 1 0
0 3 -1 1
1
end_operator
begin_operator
put chest right hall
1
0 0
2
0 2 1 0
0 3 -1 0
1
end_operator
begin_operator
put chest right yard
1
0 1
2
0 2 1 0
0 3 -1 1
1
end_operator
begin_operator
put crate left hall
1
0 0
2
0 1 2 0
0 4 -1 0
1
end_operator
begin_operator
put crate left yard
1
0 1
2
0 1 2 0
0 4 -1 1
1
end_operator
begin_operator
put crate right hall
1
0 0
2
0 2 2 0
0 4 -1 0
1
end_operator
begin_operator
put crate right yard
1
0 1
2
0 2 2 0
0 4 -1 1
1
end_operator
begin_operator
put trunk left hall
1
0 0
2
0 1 3 0
0 5 -1 0
1
end_operator
begin_operator
put trunk left yard
1
0 1
2
0 1 3 0
0 5 -1 1
1
end_operator
begin_operator
put trunk right hall
1
0 0
2
0 2 3 0
0 5 -1 0
1
end_operator
begin_operator
put trunk right yard
1
0 1
2
0 2 3 0
0 5 -1 1
1
end_operator
begin_operator
walk hall yard
0
1
0 0 0 1
1
end_operator
begin_operator
walk yard hall
0
1
0 0 1 0
1
end_operator
0
