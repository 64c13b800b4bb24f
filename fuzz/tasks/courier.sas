begin_version
3
end_version
begin_metric
1
end_metric
3
begin_variable
var0
-1
5
Atom van-at(depot)
Atom van-at(market)
Atom van-at(mill)
Atom van-at(north-quay)
Atom van-at(south-quay)
end_variable
begin_variable
var1
-1
6
Atom loaded(letter)
Atom parcel-at(letter, depot)
Atom parcel-at(letter, market)
Atom parcel-at(letter, mill)
Atom parcel-at(letter, north-quay)
Atom parcel-at(letter, south-quay)
end_variable
begin_variable
var2
-1
6
Atom loaded(flour)
Atom parcel-at(flour, depot)
Atom parcel-at(flour, market)
Atom parcel-at(flour, mill)
Atom parcel-at(flour, north-quay)
Atom parcel-at(flour, south-quay)
end_variable
0
begin_state
1
1
3
end_state
begin_goal
2
1 3
2 5
end_goal
30
begin_operator
cross-north
0
1
0 0 4 3
25
end_operator
begin_operator
cross-south
0
1
0 0 3 4
25
end_operator
begin_operator
drive depot market
0
1
0 0 0 1
10
end_operator
begin_operator
drive depot north-quay
0
1
0 0 0 3
30
end_operator
begin_operator
drive market depot
0
1
0 0 1 0
10
end_operator
begin_operator
drive market north-quay
0
1
0 0 1 3
15
end_operator
begin_operator
drive mill south-quay
0
1
0 0 2 4
5
end_operator
begin_operator
drive north-quay depot
0
1
0 0 3 0
30
end_operator
begin_operator
drive north-quay market
0
1
0 0 3 1
15
end_operator
begin_operator
drive south-quay mill
0
1
0 0 4 2
5
end_operator
begin_operator
load flour depot
1
0 0
1
0 2 1 0
0
end_operator
begin_operator
load flour market
1
0 1
1
0 2 2 0
0
end_operator
begin_operator
load flour mill
1
0 2
1
0 2 3 0
0
end_operator
begin_operator
load flour north-quay
1
0 3
1
0 2 4 0
0
end_operator
begin_operator
load flour south-quay
1
0 4
1
0 2 5 0
0
end_operator
begin_operator
load letter depot
1
0 0
1
0 1 1 0
0
end_operator
begin_operator
load letter market
1
0 1
1
0 1 2 0
0
end_operator
begin_operator
load letter mill
1
0 2
1
0 1 3 0
0
end_operator
begin_operator
load letter north-quay
1
0 3
1
0 1 4 0
0
end_operator
begin_operator
load letter south-quay
1
0 4
1
0 1 5 0
0
end_operator
begin_operator
unload flour depot
1
0 0
1
0 2 0 1
0
end_operator
begin_operator
unload flour market
1
0 1
1
0 2 0 2
0
end_operator
begin_operator
unload flour mill
1
0 2
1
0 2 0 3
0
end_operator
begin_operator
unload flour north-quay
1
0 3
1
0 2 0 4
0
end_operator
begin_operator
unload flour south-quay
1
0 4
1
0 2 0 5
0
end_operator
begin_operator
unload letter depot
1
0 0
1
0 1 0 1
0
end_operator
begin_operator
unload letter market
1
0 1
1
0 1 0 2
0
end_operator
begin_operator
unload letter mill
1
0 2
1
0 1 0 3
0
end_operator
begin_operator
unload letter north-quay
1
0 3
1
0 1 0 4
0
end_operator
begin_operator
unload letter south-quay
1
0 4
1
0 1 0 5
0
end_operator
0
